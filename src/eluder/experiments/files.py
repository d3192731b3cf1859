"""Where a store's files are: a local folder, or any address that fsspec knows (s3://bucket/prefix, memory://…).

All a store needs: whole files read, written at once or not at all, created only where there is none, listed, removed.
"""

from __future__ import annotations

import abc
import contextlib
import errno
import os
import re
import tempfile
from pathlib import Path
from typing import Any

_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")
_TEMPORARY = ".eluder-"
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
# No file of a store is larger; what claims to be is refused.
LARGEST_FILE = 4 * 2**30


class StoreError(OSError):
    """The store cannot be used as asked; one sentence."""


class Files(abc.ABC):
    """A folder of files by name. Names are relative, their parts separated by "/"."""

    address: str

    @abc.abstractmethod
    def read(self, name: str) -> bytes:
        """The content; FileNotFoundError when there is none."""

    @abc.abstractmethod
    def write(self, name: str, data: bytes, *, settle: bool = True) -> None:
        """Writes or replaces a file: a reader, or a power cut, sees the old or the new one, never half of it.

        The first of several files in one folder need not be settled by themselves: settling the last settles all.
        """

    @abc.abstractmethod
    def create(self, name: str, data: bytes) -> bool:
        """Writes a file only if there is none of that name; whether it did."""

    @abc.abstractmethod
    def names(self, folder: str) -> list[str]:
        """The names of files and folders in a folder, without the folder; none when it does not exist."""

    @abc.abstractmethod
    def remove(self, name: str) -> None:
        """Removes a file, if it is there."""

    def set_aside(self, name: str, to: str) -> None:
        """Moves a file out of the way, keeping what can be read of it."""
        with contextlib.suppress(FileNotFoundError):
            self.write(to, self.read(name))
        self.remove(name)

    @contextlib.contextmanager
    def guard(self, name: str):
        """Held by one process at a time, where the place can tell; see `eluder.experiments.locks`."""
        yield


def checked(name: str) -> str:
    """The name, if it stays inside the store whatever it says."""
    if not all(_PART.fullmatch(part) for part in name.split("/")):
        raise StoreError(f"A store does not read or write files named {name[:80]!r}.")
    return name


def open_files(address: str | Path, **options: Any) -> Files:
    """The files at a local path or an fsspec address."""
    text = str(address)
    if text.startswith("file://"):
        return LocalFiles(Path(text.removeprefix("file://")))
    if "://" in text or "::" in text:
        return RemoteFiles(text, **options)
    return LocalFiles(Path(text))


class LocalFiles(Files):
    """A folder on a disk."""

    def __init__(self, root: Path):
        self.root = Path(root)
        self.address = str(root)

    def _path(self, name: str) -> Path:
        path = self.root
        for part in checked(name).split("/"):
            path = path / part
            if path.is_symlink():
                raise StoreError(f"{path} is a link: a store follows none, since it could lead out of its folder.")
        return path

    def read(self, name: str) -> bytes:
        path = self._path(name)
        if path.is_dir() or path.stat().st_size > LARGEST_FILE:
            raise StoreError(f"{path} is no file of a store.")
        return path.read_bytes()

    def write(self, name: str, data: bytes, *, settle: bool = True) -> None:
        path = self._path(name)
        temporary = self._temporary(path, data)
        try:
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        if settle:
            _sync_folder(path.parent)

    def create(self, name: str, data: bytes) -> bool:
        path = self._path(name)
        temporary = self._temporary(path, data, sync=False)  # claims mean nothing after a power cut
        try:
            os.link(temporary, path)  # fails where there is one; a name never has half a file behind it
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS):
                raise
            return self._create_without_links(path, data)
        finally:
            temporary.unlink(missing_ok=True)
        return True

    @staticmethod
    def _create_without_links(path: Path, data: bytes) -> bool:
        try:
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        except FileExistsError:
            return False
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        return True

    def _temporary(self, path: Path, data: bytes, *, sync: bool = True) -> Path:
        """A complete file beside `path`, by default on the disk itself."""
        name = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=_TEMPORARY, suffix=".tmp")
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                if sync:
                    file.flush()
                    os.fsync(file.fileno())
            os.chmod(name, 0o644)
            return Path(name)
        except OSError as error:
            if name is not None:
                Path(name).unlink(missing_ok=True)
            if error.errno in _FULL:
                raise StoreError(
                    error.errno,
                    f"The disk of {self.root} is full: free some space and run the same command again; "
                    "what is stored stays as it is",
                ) from None
            raise

    def names(self, folder: str) -> list[str]:
        path = self._path(folder) if folder else self.root
        try:
            with os.scandir(path) as entries:
                found = [entry.name for entry in entries if not entry.is_symlink()]
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(name for name in found if _PART.fullmatch(name))

    def remove(self, name: str) -> None:
        self._path(name).unlink(missing_ok=True)

    def sweep(self, older_than: float) -> None:
        """Removes temporary files that a killed process left behind."""
        for path in self.root.rglob(f"{_TEMPORARY}*.tmp"):
            with contextlib.suppress(OSError):
                if path.is_file() and not path.is_symlink() and path.stat().st_mtime < older_than:
                    path.unlink()

    @contextlib.contextmanager
    def guard(self, name: str):
        path = self._path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
        try:
            with contextlib.suppress(ImportError, OSError):  # without it, two may both break a stale lock
                import fcntl

                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _sync_folder(folder: Path) -> None:
    """Makes a rename survive a power cut."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class RemoteFiles(Files):
    """Files behind an fsspec address. A put replaces a whole object, so that writes are atomic."""

    def __init__(self, address: str, **options: Any):
        try:
            import fsspec
        except ModuleNotFoundError:
            raise StoreError(f"The address {address!r} needs the package 'fsspec': pip install 'eluder[s3]'") from None
        self.address = address.rstrip("/")
        try:
            self.system, self.root = fsspec.core.url_to_fs(self.address, use_listings_cache=False, **options)
        except (ImportError, ValueError) as error:
            raise StoreError(f"The address {address!r} cannot be opened: {error}") from None
        self.root = self.root.rstrip("/")

    def _key(self, name: str) -> str:
        return f"{self.root}/{checked(name)}"

    @contextlib.contextmanager
    def _reached(self):
        """Errors of the service's own library, such as missing credentials, become one sentence."""
        try:
            yield
        except OSError:
            raise
        except Exception as error:
            raise StoreError(f"{self.address} cannot be reached: {' '.join(str(error).split())}") from None

    def read(self, name: str) -> bytes:
        with self._reached():
            self.system.invalidate_cache()
            return self.system.cat_file(self._key(name))

    def write(self, name: str, data: bytes, *, settle: bool = True) -> None:
        del settle
        with self._reached():
            self._make_folders(name)
            self.system.pipe_file(self._key(name), data)

    def create(self, name: str, data: bytes) -> bool:
        try:
            with self._reached():
                self._make_folders(name)
                self.system.pipe_file(self._key(name), data, mode="create")
        except FileExistsError:
            return False
        except OSError as error:  # S3 answers "precondition failed"
            if "precondition" in str(error).lower() or "conflict" in str(error).lower():
                return False
            raise
        return True

    def _make_folders(self, name: str) -> None:
        parent = self._key(name).rsplit("/", 1)[0]
        if self.system.protocol not in ("s3", ("s3", "s3a")):  # object stores have no folders to make
            self.system.makedirs(parent, exist_ok=True)

    def names(self, folder: str) -> list[str]:
        try:
            with self._reached():
                self.system.invalidate_cache()
                found = self.system.ls(self._key(folder) if folder else self.root, detail=False)
        except FileNotFoundError:
            return []
        names = {path.rstrip("/").rsplit("/", 1)[-1] for path in found}
        return sorted(name for name in names if _PART.fullmatch(name))

    def remove(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError), self._reached():
            self.system.rm_file(self._key(name))
