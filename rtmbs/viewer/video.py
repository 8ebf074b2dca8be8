"""Video files, series of images and single images, encoded by ffmpeg.

Videos are written in pieces of one second that can be decoded alone, so the pieces on the disk play without the end.
"""

import os
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError

IMAGES = (".png", ".jpg", ".jpeg")
X264 = ("-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "15")
PIECES = ("-movflags", "+frag_keyframe+empty_moov+default_base_moof")
# A palette of its own for each picture of a GIF: colours are right, and no picture waits for the last one.
PALETTE = "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1"
CODECS: dict[str, tuple[str, ...]] = {
    ".mp4": (*X264, *PIECES),
    ".mov": (*X264, *PIECES),
    ".mkv": X264,
    ".webm": ("-c:v", "libvpx-vp9", "-pix_fmt", "yuv420p", "-crf", "20", "-b:v", "0", "-cpu-used", "5"),
    ".gif": ("-filter_complex", PALETTE),
    ".png": ("-c:v", "png"),
    ".jpg": ("-c:v", "mjpeg", "-pix_fmt", "yuvj444p", "-q:v", "3"),
    ".jpeg": ("-c:v", "mjpeg", "-pix_fmt", "yuvj444p", "-q:v", "3"),
}


class Encoder:
    """Writes pictures of ``size`` (width, height) to ``path``, ``rate`` of them a second.

    Raises InputError without imageio-ffmpeg, which brings ffmpeg.
    """

    def __init__(self, path: Path, size: tuple[int, int], rate: float) -> None:
        self.path, self.pictures = path, 0
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 (open until ``close``)
        self._process = subprocess.Popen(
            [ffmpeg(), *command(path.suffix.lower(), size, rate, "%" in path.name), os.path.abspath(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._said,
            start_new_session=True,  # Ctrl+C is for the program, which then finishes the file
        )

    def write(self, picture: bytes) -> None:
        """Append a picture; InputError when the file cannot take it."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(picture)
        except OSError:
            raise self._failure() from None
        self.pictures += 1

    def close(self) -> None:
        """Finish the file; InputError when it could not be written to the end."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        with self._said:
            if self._process.wait() != 0:
                raise self._failure()

    def _failure(self) -> InputError:
        """Return the message of ffmpeg as a sentence."""
        code = self._process.wait()
        self._said.seek(0)
        reason = reason_of(self._said.read().decode(errors="replace")) or f"ffmpeg ended with code {code}"
        before = f"; {self.pictures} pictures were taken, and those on the disk stay readable" if self.pictures else ""
        return InputError(f"{str(self.path)!r} could not be written: {reason}{before}")


def command(ending: str, size: tuple[int, int], rate: float, numbered: bool) -> list[str]:
    """Return the words for ffmpeg between its name and the file."""
    taken = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{size[0]}x{size[1]}", "-r", f"{rate:.6f}", "-i", "-"]
    words = ["-y", "-hide_banner", "-v", "error", *taken, "-an", *CODECS[ending]]
    if ending in (".mp4", ".mov", ".mkv", ".webm"):
        words += ["-g", str(max(round(rate), 1))]  # a piece each second
    if ending in IMAGES and not numbered:
        words += ["-update", "1"]
    return words


def reason_of(said: str) -> str:
    """Return the reason of a failure of ffmpeg, without places in its source."""
    lines = [line for line in said.splitlines() if line.strip()]
    known = [os.strerror(number) for number in (28, 13, 30, 27, 5, 2, 122)]  # disk, rights, size, device, folder
    found = [reason for reason in known for line in lines if reason in line]
    return found[0] if found else (lines[-1].rpartition("] ")[2] if lines else "")


def ffmpeg() -> str:
    """Return the path of ffmpeg; InputError without it."""
    try:
        import imageio_ffmpeg
    except ImportError:
        raise InputError("videos and images need imageio-ffmpeg; pip install 'rtmbs[viewer]' brings it") from None
    return str(imageio_ffmpeg.get_ffmpeg_exe())


def check_path(path: Path) -> None:
    """Raise InputError for an unknown ending or a missing folder; the folder of a series is made."""
    if path.suffix.lower() not in CODECS:
        known = ", ".join(CODECS)
        raise InputError(f"{str(path)!r}: the ending {path.suffix!r} is not known; it must be one of {known}")
    if "%" in path.name and path.parent.parent.is_dir():  # a series of pictures has a folder of its own
        path.parent.mkdir(exist_ok=True)
    if not path.parent.is_dir():
        raise InputError(f"{str(path)!r}: there is no folder {str(path.parent)!r}; create it first")


# ---- pictures to a file ----------------------------------------------------------------------------------------------

Picture = NDArray[np.uint8]  # (height, width, 3), upper row first


class Video:
    """Takes pictures of one size.

    path: a video (.mp4, .mkv, .mov, .webm, .gif); images with a number in their name ("frames/%04d.png"); or one image
        (.png, .jpg), which is the last picture.
    rate: pictures a second.
    Raises InputError for another ending, a folder that does not exist, or without imageio-ffmpeg.
    """

    def __init__(self, path: str | Path, rate: float = 30.0) -> None:
        self.path, self.rate, self.pictures = Path(path), rate, 0
        self._encoder: Encoder | None = None
        self._size = (0, 0)
        check_path(self.path)
        ffmpeg()  # raises before the first picture when it is missing

    def add(self, picture: Picture) -> None:
        """Append a picture (height, width, 3); odd sizes lose a row or a column.

        Raises InputError for a later picture of another size, and for a disk that takes no more; the file then holds
        the pictures before.
        """
        height, width = (2 * (side // 2) for side in picture.shape[:2])
        if self._encoder is None:
            self._size = (width, height)
            self._encoder = Encoder(self.path, self._size, self.rate)
        if (width, height) != self._size:
            raise InputError(
                f"a picture of {width} x {height} does not fit into a video of {self._size}; keep the size"
            )
        self._encoder.write(np.ascontiguousarray(picture[:height, :width]).tobytes())
        self.pictures += 1

    def close(self) -> None:
        """Finish the file; InputError when the disk took no more."""
        encoder, self._encoder = self._encoder, None
        if encoder is not None:
            encoder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except InputError:
            if error is None:  # what went wrong first counts
                raise
