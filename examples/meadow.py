"""python meadow.py meadow.jpg [snow.jpg]: draws a dog on a meadow with a red ball, and a black one in the snow.

Photographs would be somebody's; these drawings are the project's own, and near enough to them that a captioner, which
learned from photographs, finds the dog, the ball, the grass and the snow.
"""

import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

Colour = tuple[int, int, int]

SIZE = (672, 504)
SCALE = 6  # all places are given on a picture of 448 x 336, and drawn this much larger
WIDTH, HEIGHT = 448 * SCALE, 336 * SCALE
HORIZON = int(HEIGHT * 0.4)
RED = (205, 40, 38)
BROWN, BLACK = ((168, 112, 58), (128, 80, 38)), ((46, 44, 46), (26, 25, 28))  # of a dog: near and far


def clouds(rng: np.random.Generator, height: int, grain: int) -> np.ndarray:
    """Smooth noise from -0.5 to 0.5, (height, WIDTH)."""
    coarse = rng.normal(size=(height // grain + 2, WIDTH // grain + 2))
    grey = (255 * (coarse - coarse.min()) / np.ptp(coarse)).astype(np.uint8)
    return np.asarray(Image.fromarray(grey).resize((WIDTH, height), Image.Resampling.BICUBIC), float) / 255 - 0.5


def surface(rng: np.random.Generator, top: Colour, bottom: Colour, height: int, unevenness: float) -> np.ndarray:
    """A colour that goes over into another from top to bottom, uneven as grass and sky are."""
    down = np.linspace(0, 1, height)[:, None, None]
    noise = sum(weight * clouds(rng, height, SCALE * grain) for grain, weight in ((1, 0.5), (3, 0.7), (10, 1.0)))
    return np.array(top) * (1 - down) + np.array(bottom) * down + unevenness * np.asarray(noise)[..., None]


def ellipse(
    picture: Image.Image, middle: tuple[float, float], radii: tuple[float, float], colour: Colour, turn: float = 0
):
    """An ellipse, turned by so many degrees."""
    (x, y), (across, down) = middle, radii
    mask = Image.new("L", picture.size)
    ImageDraw.Draw(mask).ellipse([SCALE * side for side in (x - across, y - down, x + across, y + down)], fill=255)
    picture.paste(colour, mask=mask.rotate(turn, center=(SCALE * x, SCALE * y)))


def trees(pen: ImageDraw.ImageDraw, rng: np.random.Generator) -> None:
    for _ in range(260):
        x, radius = rng.uniform(0, WIDTH), SCALE * rng.uniform(6, 18)
        y, light = HORIZON - min(abs(rng.normal(0, HEIGHT * 0.06)), HEIGHT * 0.13), rng.uniform(0.5, 1)
        shade = tuple(int(light * part) for part in (40, 82, 38))
        pen.ellipse((x - radius, y - 0.8 * radius, x + radius, y + 0.8 * radius), fill=shade)


def blade(pen: ImageDraw.ImageDraw, rng: np.random.Generator, x: float, y: float, length: float, width: int) -> None:
    """A blade of grass that stands at (x, y)."""
    light = rng.uniform(0.65, 1.25)
    shade = tuple(int(light * part) for part in (88, 136, 48))
    pen.line([(x, y), (x + 0.3 * length * rng.normal(), y - length)], fill=shade, width=width)


def dog(picture: Image.Image, near: Colour, far: Colour) -> None:
    """A dog that stands in the middle and looks to the right."""
    parts: list[tuple[tuple[float, float], tuple[float, float], Colour, float]] = [
        ((196, 263), (6, 26), far, -14), ((258, 263), (6, 26), far, 14),  # the far legs
        ((186, 262), (7, 28), near, 10), ((266, 262), (7, 28), near, -8),  # the near ones
        ((224, 235), (50, 20), near, 4), ((190, 233), (20, 19), near, 0), ((258, 229), (22, 20), near, 0),
        ((276, 211), (10, 18), near, -35), ((166, 217), (5, 22), near, -55),  # neck and tail
        ((290, 199), (18, 14), near, -8), ((306, 203), (13, 8), near, -10), ((308, 211), (8, 3), (200, 90, 95), -15),
        ((317, 201), (4, 4), (20, 20, 20), 0), ((294, 194), (2.6, 2.6), (15, 15, 15), 0),  # nose and eye
        ((280, 199), (7, 14), far, 25), ((279, 221), (9, 3.2), (190, 30, 30), -50),  # ear and collar
    ]  # fmt: skip
    for middle, radii, colour, turn in parts:
        ellipse(picture, middle, radii, colour, turn)


def meadow() -> Image.Image:
    rng = np.random.default_rng(3)
    sky = surface(rng, (96, 150, 215), (190, 215, 238), HORIZON, 10)
    grass = surface(rng, (92, 132, 58), (70, 118, 36), HEIGHT - HORIZON, 34)
    picture = Image.fromarray(np.concatenate([sky, grass]).clip(0, 255).astype(np.uint8))
    pen = ImageDraw.Draw(picture)
    trees(pen, rng)
    for _ in range(9000):
        near = rng.uniform() ** 0.8
        length, width = SCALE * (3 + 12 * near) * rng.uniform(0.5, 1.2), int(SCALE * (0.4 + 0.8 * near))
        blade(pen, rng, rng.uniform(0, WIDTH), HORIZON + near * (HEIGHT - HORIZON), length, width)
    dog(picture, *BROWN)
    for _ in range(1500):  # before its feet
        x, y = SCALE * (224 + 55 * rng.normal()), SCALE * (286 + rng.uniform(0, 14))
        blade(pen, rng, x, y, SCALE * rng.uniform(5, 14), SCALE)
    ellipse(picture, (376, 269), (9, 9), RED)
    ellipse(picture, (374, 266), (2.2, 2.2), (240, 130, 120))
    return photographed(picture)


def snow() -> Image.Image:
    rng = np.random.default_rng(4)
    sky = surface(rng, (176, 190, 208), (214, 222, 232), HORIZON, 8)
    ground = surface(rng, (232, 236, 244), (246, 248, 252), HEIGHT - HORIZON, 14)
    picture = Image.fromarray(np.concatenate([sky, ground]).clip(0, 255).astype(np.uint8))
    trees(ImageDraw.Draw(picture), rng)
    ellipse(picture, (228, 292), (70, 7), (196, 204, 220))  # its shadow
    dog(picture, *BLACK)
    for _ in range(60):  # what it has sunk into
        place = (228 + 50 * rng.normal(), 291 + rng.uniform(0, 8))
        ellipse(picture, place, (rng.uniform(4, 12), rng.uniform(2, 4)), (240, 243, 249))
    return photographed(picture)


def photographed(picture: Image.Image) -> Image.Image:
    return picture.filter(ImageFilter.GaussianBlur(SCALE / 2)).resize(SIZE, Image.Resampling.LANCZOS)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    for draw, path in zip((meadow, snow), sys.argv[1:], strict=False):
        draw().save(Path(path), quality=88)
