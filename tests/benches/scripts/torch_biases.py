#!/usr/bin/env python3
"""Times torch's way of the works of `ratios/biases.rs`.

    python torch_biases.py --threads 2 --json torch-biases.json

Needs torch and NumPy; see README.md here. `measure` of torch_peer.py times the works. Each is what transformers' classes do:
the bias has been built before, the scores are multiplied, it is added, and `softmax` is taken. "softmax alone" is the last
step on scores without a bias.
"""

import argparse
import math

import torch

from torch_peer import Report, write

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


def back(result):
    result.backward(torch.ones_like(result))


def alibi(report):
    for name, dtype in TYPES.items():
        for length, gradient in ((2048, False), (1024, True)):
            slopes = 2.0 ** (-8 * torch.arange(1, 13) / 12)
            positions = torch.arange(length)
            distances = -(positions[:, None] - positions[None]).abs()
            bias = (slopes[:, None, None] * distances)[None].to(dtype)
            scores = torch.randn(1, 12, length, length).to(dtype).requires_grad_(gradient)
            if gradient:
                report.row("bias", f"ALiBi softmax and gradient [1, 12, {length}, {length}], {name}", {
                    "torch": lambda: back(torch.softmax(scores * 0.125 + bias, -1)),
                }, cold=False)
            else:
                report.row("bias", f"ALiBi softmax [1, 12, {length}, {length}], {name}", {
                    "torch": lambda: torch.softmax(scores * 0.125 + bias, -1),
                    "torch, softmax alone": lambda: torch.softmax(scores, -1),
                }, cold=False)


def t5_bias(table, queries, kv_len):
    """As in T5Attention: buckets by logarithms in each call."""
    relative = torch.arange(kv_len)[None] - queries[:, None]
    distance = -torch.min(relative, torch.zeros_like(relative))
    large = 16 + (torch.log(distance.float() / 16) / math.log(128 / 16) * 16).long()
    large = torch.min(large, torch.full_like(large, 31))
    return table[torch.where(distance < 16, distance, large)].permute(2, 0, 1)[None]


def t5(report):
    table, scores = torch.randn(32, 12), torch.randn(1, 12, 1, 4096)
    position = torch.tensor([4095])
    report.row("bias", "T5 decode step, bias of 4096 keys", {
        "torch": lambda: t5_bias(table, position, 4096),
    }, cold=False)
    report.row("bias", "T5 decode step, bias and sum of 4096 keys", {
        "torch": lambda: scores + t5_bias(table, position, 4096),
    }, cold=False)


def sam(report):
    batch, heads, size = 25, 12, 14
    length = size * size
    draw = lambda *shape, gradient=False: torch.randn(batch, heads, *shape).requires_grad_(gradient)

    def whole(scores, rows, columns):
        both = rows[..., :, None] + columns[..., None, :]
        return scores * 0.125 + both.reshape(scores.shape)

    scores, rows, columns = draw(length, length), draw(length, size), draw(length, size)
    name = f"SAM, 25 windows of {size} x {size}"
    report.row("bias", f"{name}, decomposed bias", {"torch": lambda: whole(scores, rows, columns)}, cold=False)
    report.row("bias", f"{name}, bias and softmax", {
        "torch": lambda: torch.softmax(whole(scores, rows, columns), -1),
    }, cold=False)
    tracked = [draw(length, n, gradient=True) for n in (length, size, size)]
    report.row("bias", f"{name}, bias, softmax, and gradient", {
        "torch": lambda: back(torch.softmax(whole(*tracked), -1)),
    }, cold=False)


def deberta(report):
    batch, heads, length, width, rows = 4, 12, 512, 64, 512
    distances = torch.arange(length)[:, None] - torch.arange(length)[None]
    sizes = distances.abs()
    far = torch.ceil(torch.log(sizes.clamp(min=128) / 128) / math.log(511 / 128) * 127) + 128
    buckets = torch.where(sizes <= 128, distances.float(), far * distances.sign()).long()
    index = (buckets + 256).clamp(0, rows - 1)[None].expand(batch * heads, length, length)
    scale = 1 / math.sqrt(3 * width)

    def weights(q, k, table):
        """As in DisentangledSelfAttention: tables repeated over the batch, indices expanded."""
        table = table.repeat(batch, 1, 1)
        scores = torch.bmm(q, k.transpose(1, 2) * scale)
        scores = scores + torch.gather(torch.bmm(q, table.transpose(1, 2)), -1, index) * scale
        p2c = torch.gather(torch.bmm(k, table.transpose(1, 2)), -1, index.transpose(1, 2))
        return torch.softmax(scores + p2c.transpose(1, 2) * scale, -1)

    def products(q, k, table):
        table = table.repeat(batch, 1, 1)
        torch.bmm(q, k.transpose(1, 2)), torch.bmm(q, table.transpose(1, 2)), torch.bmm(k, table.transpose(1, 2))

    draw = lambda gradient: [torch.randn(n, length, width).requires_grad_(gradient) for n in (batch * heads,) * 2 + (heads,)]
    plain, tracked = draw(False), draw(True)
    report.row("bias", "DeBERTa, scores to weights [4, 12, 512, 512]", {
        "torch": lambda: weights(*plain), "torch, the three products alone": lambda: products(*plain),
    }, cold=False)
    report.row("bias", "DeBERTa, scores to weights and gradient [4, 12, 512, 512]", {
        "torch": lambda: back(weights(*tracked)),
    }, cold=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", required=True)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    report = Report()
    for work in (alibi, t5, sam, deberta):
        work(report)
    write(report, arguments)


if __name__ == "__main__":
    main()
