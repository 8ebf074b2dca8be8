"""Pictures to a file: a video, a sequence of images, or one image."""

from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.viewer.encoder import Encoder, check_path, ffmpeg

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
        ffmpeg()  # tells at once that it is missing

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
