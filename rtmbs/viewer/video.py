"""Pictures to a file: a video, a sequence of images, or one image, all written by ffmpeg."""

from collections.abc import Generator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError

Picture = NDArray[np.uint8]  # (height, width, 3), upper row first

VIDEOS = (".mp4", ".mkv", ".mov", ".webm", ".gif")
IMAGES = (".png", ".jpg", ".jpeg")
BEST = 7  # of 10, the quality of a video


class Video:
    """Takes pictures of one size.

    path: a video (.mp4, .mkv, .mov, .webm, .gif); images with a number in their name ("frames/%04d.png"); or one image
        (.png, .jpg), which is the last picture.
    rate: pictures a second.
    Raises InputError for another ending, a folder that does not exist, or without imageio-ffmpeg.
    """

    def __init__(self, path: str | Path, rate: float = 30.0) -> None:
        self.path, self.rate, self.pictures = Path(path), rate, 0
        self._writer: Generator[None, Any, None] | None = None
        self._size = (0, 0)
        check_path(self.path)
        try:
            import imageio_ffmpeg
        except ImportError:
            raise InputError("videos and images need imageio-ffmpeg; pip install 'rtmbs[viewer]' brings it") from None
        self._ffmpeg: Any = imageio_ffmpeg

    def add(self, picture: Picture) -> None:
        """Append a picture (height, width, 3); odd sizes lose a row or a column, a later other size is refused."""
        height, width = (2 * (side // 2) for side in picture.shape[:2])
        if self._writer is None:
            self._size = (width, height)
            self._writer = self._open()
            self._writer.send(None)
        if (width, height) != self._size:
            raise InputError(
                f"a picture of {width} x {height} does not fit into a video of {self._size}; keep the size"
            )
        self._writer.send(np.ascontiguousarray(picture[:height, :width]))
        self.pictures += 1

    def close(self) -> None:
        """Finish the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _open(self) -> Generator[None, Any, None]:
        options: dict[str, Any] = {"fps": self.rate, "macro_block_size": 1}
        if self.path.suffix in IMAGES:
            options |= {"codec": "png" if self.path.suffix == ".png" else "mjpeg", "pix_fmt_out": "rgb24"}
            if self.path.suffix != ".png":
                options["pix_fmt_out"] = "yuvj444p"
            options["output_params"] = [] if "%" in self.path.name else ["-update", "1"]
        elif self.path.suffix == ".gif":
            options |= {"codec": "gif", "pix_fmt_out": "rgb8"}
        else:
            options["quality"] = BEST
        writer: Generator[None, Any, None] = self._ffmpeg.write_frames(str(self.path), self._size, **options)
        return writer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def check_path(path: Path) -> None:
    """Raise InputError for an ending nobody knows or a folder that is not there."""
    if path.suffix.lower() not in (*VIDEOS, *IMAGES):
        known = ", ".join((*VIDEOS, *IMAGES))
        raise InputError(f"{str(path)!r}: the ending {path.suffix!r} is not known; it must be one of {known}")
    if not path.parent.is_dir():
        raise InputError(f"{str(path)!r}: there is no folder {str(path.parent)!r}; create it first")
