"""`python -m hudkit.daemon`."""

from __future__ import annotations

import sys

from hudkit.daemon.lifecycle import main

sys.exit(main())
