"""Recurrent networks in closed form: their layers and rows of work, for one sample."""

from __future__ import annotations

from dse.catalog.rows_of_work import CONVOLUTION, RECURRENCE, Builder, Network


def _recurrent(out: Builder, name: str, hidden: int, inputs: int, steps: int, gates: int) -> None:
    """An LSTM (4 gates) or a GRU (3): one product of all inputs, the recurrence step by step.

    name: of its tensors, with a place for which. Elements of the gates in both passes, per step:
    ``h (4 g + 8)`` fused, ``h (6 g + 12)`` eager.
    """
    wide = gates * hidden
    out.product(name.format("wih"), steps, wide, inputs)
    own = out.weights(name.format("whh"), wide * hidden)
    out.row(own, RECURRENCE, m=1, n=wide, k=hidden, steps=steps)
    each = steps * hidden
    out.move(own, each * (4 * gates + 8), each * (6 * gates + 12), 2 * steps)
    out.weights(name.format("bih"), wide)
    out.weights(name.format("bhh"), wide)


def gnmt(hidden: int = 1024, vocabulary: int = 32320, tokens: int = 30) -> Network:
    """GNMT (Wu et al., arXiv 1609.08144) with 4 + 4 layers of LSTM, ``tokens`` in and out.

    The first layer reads both ways. Layers of the decoder read the context of the attention beside
    their input; its scores are additive: ``v tanh(W_q q + W_k k)`` for every pair of tokens.
    """
    out = Builder()
    out.weights("embed.shared", vocabulary * hidden)

    def layer(name: str, inputs: int, dropout: bool = True) -> None:
        _recurrent(out, name, hidden, inputs, tokens, 4)
        if dropout:
            moved = tokens * hidden
            out.move(name.format("wih"), 5 * moved, 8 * moved, 5)

    layer("enc0.{}f", hidden)
    layer("enc0.{}b", hidden, dropout=False)
    layer("enc1.{}", 2 * hidden)
    layer("enc2.{}", hidden)
    layer("enc3.{}", hidden)
    layer("dec0.{}", hidden)
    for name in ("attn.q", "attn.k"):
        out.product(name, tokens, hidden, hidden)
    scores = out.weights("attn.v", hidden)
    out.move(scores, 6 * tokens * tokens * hidden, 12 * tokens * tokens * hidden, 10)
    out.weights("attn.b", hidden)
    for number in (1, 2, 3):
        layer(f"dec{number}.{{}}", 2 * hidden)
    out.product("classifier.w", tokens, vocabulary, hidden, "classifier.b")
    out.loss("classifier.w", tokens, vocabulary)
    return out.network("recurrent")


def deepspeech(hidden: int, layers: int, frames: int = 400, inputs: int = 1312) -> Network:
    """Deep Speech 2 (Amodei et al., arXiv 1512.02595): 2 convolutions, GRUs that read both ways.

    frames: after the convolutions, half of the spectrogram's, of 161 frequencies. Both convolutions
    have 32 channels, of 81 and then 41 frequencies; ``inputs`` is what the first GRU reads. 29
    letters.
    """
    out = Builder()
    channels = 32
    before = 161 * 2 * frames
    for number, (high, k) in enumerate(((81, 11 * 41), (41, channels * 11 * 21)), 1):
        pixels = high * frames
        name = f"conv{number}"
        layer = out.weights(f"{name}.w", channels * k)
        out.row(layer, CONVOLUTION, m=pixels, n=channels, k=k, input_elems=before)
        out.weights(f"{name}.b", channels)
        before = channels * pixels
        norm = out.weights(f"{name}.bn.w", channels)
        out.move(norm, 16 * before, 26 * before, 6)
        out.weights(f"{name}.bn.b", channels)
    for number in range(layers):
        if number:
            norm = out.weights(f"bn{number}.w", hidden)
            out.move(norm, 8 * hidden * frames, 13 * hidden * frames, 6)
            out.weights(f"bn{number}.b", hidden)
        for way in "fb":
            wide = hidden if number else inputs
            _recurrent(out, f"gru{number}.{way}.{{}}", hidden, wide, frames, 3)
    out.product("fc.w", frames, 29, hidden)
    out.loss("fc.w", frames, 29)
    return out.network("recurrent")
