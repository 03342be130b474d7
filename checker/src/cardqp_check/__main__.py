"""The command ``cardqp-check``."""

import argparse
import sys

from cardqp_check.check import check


def main() -> int:
    """Check an answer: 0 if every claim follows, 1 if not."""
    parser = argparse.ArgumentParser(
        prog="cardqp-check",
        description="Check the certificate of an answer without any of cardqp.",
    )
    parser.add_argument("problem", help="the problem, an .npz file")
    parser.add_argument("run", help="the answer with its certificate, an .npz file")
    parser.add_argument(
        "--data", metavar="NPY", help="the data, if the problem does not name its file"
    )
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="J", help="processes (default: 1)"
    )
    options = parser.parse_args()
    verdict = check(options.problem, options.run, data=options.data, jobs=options.jobs)
    print(verdict)
    return 0 if verdict.ok else 1


if __name__ == "__main__":
    sys.exit(main())
