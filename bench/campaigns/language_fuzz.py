"""Model files of random words, by the grammar and by damage: read, or refused by one line with its place."""

import re
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.extra.lark import from_lark

from bench.campaigns.campaign import Campaign, Tally
from rtmbs import library
from rtmbs.errors import LanguageError, ModelError
from rtmbs.language import build, format, parse, write
from rtmbs.language.parse import grammar

PAGE = Path(__file__).parents[2] / "docs" / "language.md"
MOST_SECONDS = 2.0  # of the processor, for a text below 1 MB
LARGE = 100  # one case of so many is blown up to nearly a megabyte
MEGABYTE = 1_000_000
WORDS = re.compile(r'\s+|#[^\n]*|"[^"\n]*"|[\w.]+|[^\s\w]')


def run(cases: int, first: int) -> Tally:
    """Try ``cases`` texts from seed ``first`` on, one in three made by the grammar."""
    tally = Tally()
    sound = [*examples(), *(write(library.build(name)) for name in ("fourbar", "governor", "slider_crank"))]
    by_grammar = cases // 3
    for case in range(first, first + cases - by_grammar):
        rng = np.random.default_rng(case)
        judge(tally, f"seed {case}", damaged(rng, sound, large=case % LARGE == LARGE - 1))
    from_grammar(tally, by_grammar, first)
    return tally


def examples() -> list[str]:
    """Return the models that docs/language.md shows, parts of one made whole."""
    page = PAGE.read_text(encoding="utf-8")
    parts = re.findall(r"```mks-part\n(.*?)```", page, re.DOTALL)
    whole = [f"MODEL part\nSYSTEM (DYNAMIC ANALYSIS);\n{part}ENDMODEL\n" for part in parts]
    return [*re.findall(r"```mks\n(.*?)```", page, re.DOTALL), *whole]


def from_grammar(tally: Tally, cases: int, first: int) -> None:
    """Judge sentences of the grammar, drawn by hypothesis."""
    count = 0

    @seed(first)
    @settings(
        max_examples=max(cases, 1), database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(from_lark(grammar(), start="start"))
    def draw(text: str) -> None:
        nonlocal count
        if count < cases:
            count += 1
            judge(tally, f"grammar {first} + {count}", text)

    draw()
    for case in range(count, cases):  # hypothesis may run out of sentences that differ
        judge(tally, f"grammar {first} + {case}", "MODEL a ENDMODEL")


def judge(tally: Tally, case: str, text: str) -> None:
    """Count a text that is read, or refused as it must be."""
    judge_in_time(tally, case, text, verdict)


def judge_in_time(tally: Tally, case: str, text: str, judged: Callable[[str], str]) -> None:
    """Count a text that ``judged`` finds nothing wrong with, and takes no longer for than a user waits."""
    start = time.process_time()
    wrong = judged(text)
    seconds = time.process_time() - start
    tally.largest("seconds", seconds)
    if not wrong and seconds > MOST_SECONDS:
        wrong = f"{seconds:.1f} s for {len(text)} letters"
    if wrong:
        tally.fail(f"{case}: {wrong}")
    else:
        tally.survive()


def verdict(text: str) -> str:
    """Return what is wrong with how a text was read."""
    try:
        document = build(text)
    except LanguageError as error:
        return told_badly(text, error)
    except Exception as error:  # noqa: BLE001 - any other one is what is looked for
        return f"{type(error).__name__}: {error}"
    try:
        usual = format(parse(text))
        if format(parse(usual)) != usual:
            return "its usual form is not stable"
        written = write(document)
        if write(build(written)) != written or write(build(usual)) != written:
            return "it does not come back as it was"
        document.model.compile()
    except ModelError:
        return ""  # of the model as a whole
    except Exception as error:  # noqa: BLE001
        return f"read, and then {type(error).__name__}: {error}"
    return ""


def told_badly(text: str, error: LanguageError) -> str:
    """Return what is wrong with a refusal: more than one line, or a place that is not in the text."""
    lines = text.split("\n")
    if len(str(error).splitlines()) != 1:
        return f"more than one line: {str(error)!r}"
    if not (1 <= error.line <= len(lines) and 1 <= error.column <= len(lines[error.line - 1]) + 1):
        return f"no such place: {error}"
    return ""


def damaged(rng: np.random.Generator, sound: list[str], large: bool) -> str:
    """Return a sound text with one to four things done to it."""
    text = str(sound[rng.integers(len(sound))])
    for _ in range(int(rng.integers(1, 5))):
        text = DAMAGES[rng.integers(len(DAMAGES))](rng, text, sound)
    return blown_up(rng, text) if large else text


def place(rng: np.random.Generator, parts: list[str]) -> int:
    return int(rng.integers(max(len(parts), 1)))


def word_lost(rng: np.random.Generator, text: str, sound: list[str]) -> str:
    parts = WORDS.findall(text)
    k = place(rng, parts)
    return "".join(parts[:k] + parts[k + 1 :])


def word_twice(rng: np.random.Generator, text: str, sound: list[str]) -> str:
    parts = WORDS.findall(text)
    k = place(rng, parts)
    return "".join(parts[:k] + parts[k : k + 1] * int(rng.integers(2, 40)) + parts[k:])


def word_of_another(rng: np.random.Generator, text: str, sound: list[str]) -> str:
    parts, others = WORDS.findall(text), WORDS.findall(str(sound[rng.integers(len(sound))]))
    if parts:
        parts[place(rng, parts)] = others[place(rng, others)]
    return "".join(parts)


def words_exchanged(rng: np.random.Generator, text: str, sound: list[str]) -> str:
    parts = WORDS.findall(text)
    if parts:
        a, b = place(rng, parts), place(rng, parts)
        parts[a], parts[b] = parts[b], parts[a]
    return "".join(parts)


def letters_changed(rng: np.random.Generator, text: str, sound: list[str]) -> str:
    letters = list(text)
    for _ in range(int(rng.integers(1, 6))):
        if letters:
            letters[place(rng, letters)] = chr(int(rng.integers(1, 0x500)))
    return "".join(letters)


def statement_of_another(rng: np.random.Generator, text: str, sound: list[str]) -> str:
    lines, others = text.split(";"), str(sound[rng.integers(len(sound))]).split(";")
    k = place(rng, lines)
    return ";".join([*lines[:k], others[place(rng, others)], *lines[k:]])


def number_changed(rng: np.random.Generator, text: str, sound: list[str]) -> str:
    numbers = list(re.finditer(r"\d+\.?\d*", text))
    if not numbers:
        return text
    one = numbers[int(rng.integers(len(numbers)))]
    new = rng.choice(
        ["0", "-1", "1e308", "1e-308", "1e400", "TIME", "(1, 2)", "1 / 0", "0 * TIME", "sqrt(-TIME)", "3 mm", "3 km^99"]
    )
    return f"{text[: one.start()]}{new}{text[one.end() :]}"


def cut(rng: np.random.Generator, text: str, sound: list[str]) -> str:
    return text[: int(rng.integers(len(text) + 1))]


def piece_twice(rng: np.random.Generator, text: str, sound: list[str]) -> str:
    a, b = sorted(int(k) for k in rng.integers(len(text) + 1, size=2))
    return text[:b] + text[a:b] + text[b:]


def blown_up(rng: np.random.Generator, text: str) -> str:
    """Return a text of nearly a megabyte: one piece of it again and again."""
    a = int(rng.integers(len(text) + 1))
    piece = text[a : a + int(rng.integers(1, 200))] or "("
    return text[:a] + piece * ((MEGABYTE - len(text.encode()) - 1) // max(len(piece.encode()), 1)) + text[a:]


DAMAGES = (
    word_lost, word_twice, word_of_another, words_exchanged, letters_changed, statement_of_another, number_changed, cut,
    piece_twice,
)  # fmt: skip
CAMPAIGN = Campaign(
    name="language_fuzz",
    claim="a text is read, or refused by one line with its place, within 2 s",
    full=20_000,
    bounded=2_000,
    run=run,
)
