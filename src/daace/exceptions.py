"""What can go wrong, named by what the user can do about it."""


class DaaceError(Exception):
    """Base of every error that this package raises on purpose."""


class InvalidInput(DaaceError, ValueError):
    """An argument or a table is not what was expected; the message says what to do."""


class MissingFile(FileNotFoundError, DaaceError):
    """A file that shall be read, or the folder of one that shall be written, is not there."""

    def __str__(self) -> str:
        return f"'{self.filename}' {self.strerror}"


class NotFitted(DaaceError, AttributeError):
    """A density was used before `fit`."""


class PrivacyError(DaaceError):
    """Saving would write training rows to disk without an explicit request."""


class ModelFileError(DaaceError):
    """A model file is damaged, hostile, or of another version."""


class MissingDependency(DaaceError, ImportError):
    """An optional package is needed for this feature."""
