"""Lessons as a static site: each step's run is recorded when the site is written, and played by the reader's browser.

`record` runs the steps on the explorer's own pages, and `site` writes the files.
"""

from alrviz.explorer.publish.site import publish as publish
