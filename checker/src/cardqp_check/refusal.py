"""The one exception: what a file does that it must not."""


class Refused(Exception):  # noqa: N818
    """A file that is not what docs/certificate.md says, in a sentence."""


def require(holds: object, sentence: str) -> None:
    """Refuse the file, with this sentence, unless something holds."""
    if not holds:
        raise Refused(sentence)
