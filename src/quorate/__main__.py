"""`python -m quorate` is the same as `quorate`."""

from quorate.apps.cli.main import main

raise SystemExit(main())
