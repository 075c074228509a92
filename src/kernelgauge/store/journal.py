"""A file of lines that only grows; a line counts once its newline is on the disk. An `.xz` file can only be read."""

from __future__ import annotations

import lzma
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from kernelgauge.errors import StoreError
from kernelgauge.store.disk import guarded, refused, sync_folder, unreadable, write_whole


class Journal:
    """Appends whole lines durably, or not at all. A file that does not exist yet reads as empty."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = -1
        self._end = 0
        self._spoiled = False

    def lines(self) -> Iterator[tuple[int, str]]:
        """Number (from 1) and text of every finished line; an unfinished last one is left out.

        Raises StoreError if the file cannot be read or a finished line is not UTF-8.
        """
        try:
            with lzma.open(self.path) if self.path.suffix == ".xz" else self.path.open("rb") as file:
                for number, line in enumerate(file, start=1):
                    if not line.endswith(b"\n"):
                        return
                    if line.strip():
                        yield number, line.decode()
        except FileNotFoundError:
            return
        except UnicodeDecodeError:
            raise StoreError(f"{self.path}, line {number} is not text in UTF-8") from None
        except (lzma.LZMAError, EOFError) as error:
            raise StoreError(f"{self.path} is no whole xz file: {error}") from None
        except OSError as error:
            raise unreadable(error, self.path) from error

    def torn(self) -> bytes:
        """What stands after the last newline: the line that somebody was writing when they were killed."""
        try:
            with self.path.open("rb") as file:
                end = position = file.seek(0, os.SEEK_END)
                while position > 0:
                    start = max(0, position - 65536)
                    file.seek(start)
                    newline = file.read(position - start).rfind(b"\n")
                    if newline >= 0:
                        position = start + newline + 1
                        break
                    position = start
                file.seek(position)
                return file.read(end - position)
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise unreadable(error, self.path) from error

    def mend(self) -> Path | None:
        """Move a torn tail to a file of its own beside this one, so that appending starts on a fresh line.

        Returns that file, or None if nothing was torn. Raises StoreError.
        """
        tail = self.torn()
        if not tail:
            return None
        count = 1
        while (aside := self.path.with_name(f"{self.path.name}.torn-{count}")).exists():
            count += 1
        write_whole(aside, tail)
        with guarded(self.path), self.path.open("r+b") as file:
            file.truncate(file.seek(0, os.SEEK_END) - len(tail))
            os.fsync(file.fileno())
        return aside

    def append(self, line: str) -> None:
        """Add `line` to the disk before returning. Raises StoreError, and the file is then as before."""
        try:
            self._open()
            if self._spoiled:
                self._take_back()
            rest = memoryview(line.encode() + b"\n")
            size = len(rest)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            os.fsync(self._descriptor)
            self._end += size
        except OSError as error:
            self._spoiled = True
            with suppress(OSError):
                # If this fails too, the half line is taken back before the next one, or by the next `mend`.
                self._take_back()
            raise refused(error, self.path) from error

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _open(self) -> None:
        if self._descriptor >= 0:
            return
        self._descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._end = os.lseek(self._descriptor, 0, os.SEEK_END)
        sync_folder(self.path.parent)

    def _take_back(self) -> None:
        if self._descriptor >= 0:
            os.ftruncate(self._descriptor, self._end)
            os.fsync(self._descriptor)
        self._spoiled = False
