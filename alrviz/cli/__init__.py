"""The console script `alrviz`: explore or inspect a table, fit, predict and export, publish lessons, compile kernels.

A module here for each command; it imports what the command needs when that is called, so that `alrviz --version`
answers at once.

Exit codes: 0 done; 1 the check failed; 2 something asked for cannot be had (a missing file, a port in use); 130 Ctrl-C
ended a command other than explore before it was done; 141 what reads the output was closed.
"""

import argparse
import os
import sys
from collections.abc import Sequence

from alrviz import __version__
from alrviz.cli import explore, export, fit, inspect, predict, publish, report
from alrviz.cli.options import CommandError, with_options
from alrviz.errors import AlrvizError

INTERRUPTED = 130  # exit code, as a shell gives for SIGINT
CLOSED_PIPE = 141  # for SIGPIPE


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    options = parser().parse_args(arguments)
    try:
        code: int = options.command(options)
        sys.stdout.flush()
        return code
    except (CommandError, AlrvizError) as error:
        print(f"alrviz: {with_options(str(error))}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # as `| head` leaves it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python's last flush fails too
        return CLOSED_PIPE
    except KeyboardInterrupt:
        print()
        return 0 if options.called == "explore" else INTERRUPTED  # Ctrl-C is how the server is stopped


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    root = argparse.ArgumentParser(
        prog="alrviz", description="Classifiers from naive Bayes to higher-order logistic regression, watched live."
    )
    root.add_argument("--version", action="version", version=f"alrviz {__version__}")
    commands = root.add_subparsers(required=True, metavar="COMMAND", dest="called")
    explore.add_to(commands)
    warm = commands.add_parser("warm", help="compile the kernels now, so that the first run starts at once")
    warm.set_defaults(command=_warm)
    for command in (inspect, predict, fit, report, export, publish):
        command.add_to(commands)
    return root


def _warm(options: argparse.Namespace) -> int:
    from alrviz.fitting.warm import warm

    variants, seconds = warm()
    print(f"{variants} variants of the kernels are ready and kept on disk, after {seconds:.1f} s")
    return 0
