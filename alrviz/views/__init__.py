"""Views: pictures that live, each usable alone in a notebook."""

from alrviz.component_files import close_module_imports

close_module_imports()
