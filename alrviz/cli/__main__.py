"""`python -m alrviz.cli`."""

import sys

from alrviz.cli import main

sys.exit(main())
