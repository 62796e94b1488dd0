"""The explorer, ready for `panel serve apps/explorer.py --show`."""

from alrviz.explorer import application

application().servable()
