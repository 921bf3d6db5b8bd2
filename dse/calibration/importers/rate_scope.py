"""What a rate in a line of a log is of, by the words beside it.

- of the whole job, or of one accelerator or node: ``Throughput per GPU: 5.4 samples/s``. What a
  core or a replica is, nobody but the script knows.
- of training or of evaluation: ``val_samples_per_second: 900``
- of the whole step or of a part of it: ``data 0.01 s/it``, ``micro_step time: 0.2 s``
- of this step, an average, or what was never measured: ``max``, ``expected``

All text is in lower case.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from dse.calibration.importers.rate_units import ACCELERATOR, NODE, OTHER, SAMPLE, TOKEN

WHOLE, PART, EVALUATION = "", "part", "evaluation"
PLAIN, AVERAGE, EXTREME = range(3)  # the first of these that a line has counts

_ONE = rf"(?:{ACCELERATOR}|{NODE}|{OTHER})"
_NAME = r"(?:throughput|speed|rate|perf|performance|ips)"  # what rates are called
_ADJECTIVE = r"(?:avg|average|mean|median|current|overall|observed|measured|train|training)"
_EACH = r"(?:each|every)\s+(?:of\s+)?(?:the\s+)?(?:\d+\s+)?"
_COUNT = rf"\(\s?\d+\s(?:{ACCELERATOR}|{NODE})s?\s?\)"  # of them, as in per GPU (32 GPUs)
# Between what a rate is of and the rate: no comma, and no words but what rates are called.
_UP_TO_RATE = rf"[\s\"':=|{{(\[_-]*(?:{_COUNT}[\s:=|]*)?(?:(?:is|was|of|at|{_NAME})[\s\"':=|_-]*)*$"
# Throughput per GPU: 5.4; not 8 GPUs per node: 5.4, where that is of the GPUs.
_PER_ONE = re.compile(
    rf"(?:(?:(?:^|[|;:,{{(\[\]])\s*[\"']?|(?<![a-z])(?:{_NAME}|{_ADJECTIVE})\s*)(?:per[\s_-]+|{_EACH})"
    rf"|(?<![a-z])per[_-](?={_ONE}_)|(?<![a-z])(?:{_NAME}|s|sec|second)\s?/\s?)"
    rf"(?P<one>{_ONE})s?(?![a-z0-9]){_UP_TO_RATE}"
)
_PER_ONE_BEHIND = re.compile(
    rf"\s{{0,9}}[(\[]?\s{{0,9}}(?:per[\s_-]+|(?:(?:on|for)\s+)?{_EACH}|(?P<sure>/\s?))"
    rf"(?P<one>{_ONE})s?(?![a-z0-9])(?P<unsure>[\s_-]*(?:micro|mini|batch|mem|[a-z]*flop))?"
)
_OF_ONE = re.compile(rf"(?<![a-z])(?P<one>{_ONE})/$")  # device/tokens_per_sec
# gpu_samples_per_second: 5.4, local throughput: 5.4 samples/s, single-GPU: 5.4 samples/s
_MAYBE_ONE = re.compile(
    rf"(?<![a-z])(?P<one>{ACCELERATOR}|{NODE}|local)(?:_|[\s_-]+{_NAME}[\"']?\s*[=:]?\s*)[\"']?$"
    rf"|(?<![a-z])(?:one|single)[\s_-]+(?P<single>{_ONE}){_UP_TO_RATE}"
)
# Before such a word: of all of them.
_ALL = re.compile(
    r"(?:\d|(?<![a-z])(?:all|aggregated?|total|overall|global|multi|cross|inter|sum|combined|"
    r"cluster|whole|many|across))[\s_-]*$"
)
_MAYBE_ONE_BEHIND = re.compile(
    rf"\s{{0,9}}\(?(?:(?:on|for)\s+)?(?:one|(?:a\s+)?single)[\s-](?P<one>{_ONE})(?![a-z0-9])"
)
# Ends the words that are beside a rate: a cell, or another number with its unit.
_ANOTHER = re.compile(
    rf"[|;{{}}\[\]\t]|(?<![a-z_\d.])\d[\d.,:]*(?:e[+-]?\d+)?(?![\d.]|\s?(?:{ACCELERATOR}|{NODE})s?\b)"
    rf"(?:\s?(?:[kmgt]?(?:flops?|i?b|bytes)|{SAMPLE}|{TOKEN}|ms|s|sec|seconds|it)"
    r"(?:\s?/\s?[a-z]+|[\s_]per[\s_][a-z]+)+(?!\s*[=:])|[a-z%]*)"
)
_NEAR = 400  # characters before a rate that are looked at, with a progress bar
_BEHIND = re.compile(r"\s{0,9}[(\[]?([a-z_ /-]{1,40})(?:[)\]|,;]|$)")
_BAR = re.compile(r"\[\d+:\d\d[^\[\]]*$")  # tqdm: before the rate in [00:10<01:30, 3.45it/s]
_COUNTERS = re.compile(r"\d+%|\d+(?:\.\d+)?[km]?/\d|\d+\s*[a-z]*\s*$")
_PATH = re.compile(r"(?:^|\s)[~.]*/[\w./-]+")
_INCLUDED = re.compile(r"(?<![a-z])(?:incl[a-z]*|with)(?![a-z])|w/(?!o)")
_PART = (
    r"(?:(?<!synthetic )(?<!real )(?<!random )(?<!dummy )(?<!fake )data|data[\s_-]?load(?:er|ing)?|"
    r"load(?:er|ing)?|i/?o|read(?:er|ing)?|fetch(?:ing)?|input[\s_-]?pipeline|preprocess(?:ing)?|"
    r"decod(?:e|ing)|micro(?:[\s_-]?(?:step|batch|iter|iteration)(?:e?s)?)?|fwd|forward|bwd|"
    r"backward|optim(?:izer)?|comms?|communication|all[\s_-]?reduce|comput(?:e|ing|ation)|h2d|"
    r"sav(?:e|ing))"
)
_OF_A_PART = re.compile(  # right before a rate
    rf"(?<![a-z+])(?<!\+ ){_PART}(?:[\s_-]*(?:time|took|takes|{_NAME}))*[\s_\"':=|(\[-]*$"
)
_OF_A_PART_BEHIND = re.compile(rf"[\s(\[]*(?:(?:of|for|in)\s+)?{_PART}(?![a-z])")
_PREPARES = re.compile(  # begin progress bars of what comes before training
    r"\W*(?:running\s+)?(?:map|filter|load|sav|(?:tokeniz|download|generat|cast|flatten|pack|"
    r"truncat|resolv|creat|group|preprocess)[a-z]*)(?:ing)?(?![a-z])"
)
_AVERAGE = re.compile(
    r"(?<![a-z])(?:avg|average|mean|median|running|moving|smooth|cumulative)|avg(?![a-z])"
)
_EXTREME = re.compile(
    r"(?<![a-z])(?:max|min|peak|best|worst|fastest|slowest|expected|target|theoretical|ideal|"
    r"baseline|reference|std|stddev|p\d\d)(?![a-z])"
)
_TRAINING = re.compile(r"(?<![a-z])train")
_NOT_TRAINING = re.compile(r"(?<![a-z])(?:(?:eval|valid|test|infer|predict)[a-z]*|val)(?![a-z])")
_METRICS = (
    r"loss|acc|auc|ppl|perplexity|err|f1|[mr]*s?mse|mae|m?iou|m?ap|dice|bleu|rouge|score|metric|"
    r"precision|recall|psnr|ssim|nll|bp[bc]|wer|cer|top[\s_-]?\d"
)
_MEASURED_OF_IT = re.compile(  # val_loss=2.2, beside which a line may tell training's own
    r"(?<![a-z])(?:val|valid|validation|test|eval|evaluation)(?:[_/.-][\w/.@-]{0,40}?|\s)"
    rf"(?:{_METRICS})[\w/.@-]*[\"']?(?:\s*[=:]|\s+[\d-])"
)
_OWN_OF_TRAINING = re.compile(
    r"(?<![a-z_/.-])(?<!best )(?<!min )(?:(?:lm|total|running|avg|mean)[\s_])?"
    r"(?:loss|lr|learning[\s_]rate|grad[\s_-]?norm)[\"']?\s*[=:]?\s*[\"']?(?:\d|nan)"
    r"|(?<![a-z])epoch\s*:?\s*\d+.{0,400}?\[\d+:\d\d"
)
_OF_AN_EPOCH = re.compile(r"(?<![a-z])m?s/step\b.* - val_| - val_.*m?s/step\b")


class Scope(NamedTuple):
    """What a rate is of. one: the word for what it is of one of, or empty; told: whether the words
    say so, or it only may be meant. start, end: of these words, with the rate, in the line. kind:
    WHOLE, PART or EVALUATION. rank: PLAIN, AVERAGE or EXTREME."""

    one: str
    told: bool
    start: int
    end: int
    kind: str
    rank: int

    @property
    def each(self) -> str:
        """``accelerator`` or ``node``, else the word."""
        if re.fullmatch(ACCELERATOR, self.one):
            return "accelerator"
        return "node" if re.fullmatch(NODE, self.one) else self.one


def scope(text: str, start: int, end: int, own: str = "") -> Scope:
    """Of the rate from start to end of a line. own: what its unit says that it is of one of."""
    named, begins = _beside(text, start)
    kind, rank = _named(text, start, end, text[named:start])
    near = text[begins:start]
    if own:
        return Scope(own, True, start, end, kind, rank)
    if behind := _PER_ONE_BEHIND.match(text, end):
        told = not behind["unsure"] or bool(behind["sure"])
        return Scope(behind["one"], told, start, behind.end("one"), kind, rank)
    for pattern in (_PER_ONE, _OF_ONE):
        if found := pattern.search(near):
            return Scope(found["one"], True, begins + found.start(), end, kind, rank)
    maybe = _MAYBE_ONE.search(near)
    if maybe and not _ALL.search(near[: maybe.start()]):
        one = (maybe["one"] or maybe["single"]).replace("local", "process")
        return Scope(one, False, begins + maybe.start(), end, kind, rank)
    if maybe := _MAYBE_ONE_BEHIND.match(text, end):
        return Scope(maybe["one"], False, start, maybe.end(), kind, rank)
    return Scope("", True, start, end, kind, rank)


def counts_evaluation(line: str) -> bool:
    """Whether a line's time of a step has evaluation in it, as Keras prints it of an epoch."""
    return _OF_AN_EPOCH.search(line) is not None


def of_evaluation(line: str) -> bool:
    """Whether a line says that it is of evaluation: ``Validation DataLoader 0: 9.5it/s``.

    It does not where only a metric of evaluation stands beside what training tells of itself:
    ``Epoch 1: 1.39it/s, loss=2.3, val_loss=2.2``.
    """
    if _TRAINING.search(line):
        return False
    rest = _MEASURED_OF_IT.sub(" ", line)
    return _NOT_TRAINING.search(rest if _OWN_OF_TRAINING.search(rest) else line) is not None


def _beside(text: str, start: int) -> tuple[int, int]:
    """Where the words before a rate begin, back to another number or cell, and where those of the
    cell before begin if the rate has a cell of its own, as in ``| Throughput per GPU | 5.4 img/s``.
    """
    before = begins = max(0, start - _NEAR)
    separated = False
    for found in _ANOTHER.finditer(text, begins, start):
        before, begins = begins, found.end()
        separated = not found[0][0].isdigit()
    alone = separated and not re.search("[a-z]", text[begins:start])
    return begins, before if alone else begins


def _named(text: str, start: int, end: int, near: str) -> tuple[str, int]:
    """The kind and the rank of a rate, by what names it: the words before a progress bar, else
    those before the rate, and those behind it."""
    after = _BEHIND.match(text, end)
    bar = _BAR.search(text, max(0, start - _NEAR), start)
    if bar is None:
        name = _PATH.sub(" ", near.rpartition(",")[2])
    else:
        left = text[max(0, bar.start() - _NEAR) : bar.start()]
        name = _PATH.sub(" ", re.split(r"[|;\[\]]", _COUNTERS.split(left, maxsplit=1)[0])[-1])
    behind = after[1] if after else ""
    words = f"{name} | {behind}"
    rank = EXTREME if _EXTREME.search(words) else AVERAGE if _AVERAGE.search(words) else PLAIN
    if bar is not None and _PREPARES.match(name):
        return PART, rank
    if _TRAINING.search(words):
        return WHOLE, rank
    if _NOT_TRAINING.search(words):
        return EVALUATION, rank
    part = _OF_A_PART.search(name) or _OF_A_PART_BEHIND.match(behind)
    return PART if part and not _INCLUDED.search(words) else WHOLE, rank
