"""What panel-material-ui (0.14) leaves out for those who hear a page: roles and names, put right in the browser.

Its menus are lists of options whose entries say they are menu items; the buttons beside a number and the drawer have no
name, and the mark that explains a control has one but is nothing. Its page does not name the rail, and Tabulator's grid
holds more than rows. All of them come and go, in shadow roots that no style of ours reaches, so every root is looked
through when something in it has changed.

An entry of its menus is one text, which stays in the menu when it is chosen: what a demo set is stands beside the entry
(`data-line`, which the theme shows), in every menu of data.
"""

import json

from alrviz.data.demos import demo_line, demo_names
from alrviz.explorer.shell import asset

_LINES = {name: demo_line(name) for name in demo_names()}
REPAIRS = asset("accessibility.js").replace("LINES", json.dumps(_LINES).replace("</", "<\\/"))
