"""Writes xpos.csv: cosines and sines of xPos times the scales of queries and keys, each the float nearest to the product.

    python tests/golden/make_xpos.py

The scale is that of torchscale's XPOS and of rotary-embedding-torch, zeta_i ^ ((p - center) / scale_base) with
zeta_i = (2 i + gamma d) / (d + gamma d), with a fixed center.
"""

from pathlib import Path

from flint import arb, ctx

from exact import DIGITS, F16, F32, F64, BF16, round_ball, versions

CASES = [(8, 10000.0, 0.4, 512.0, 0.0), (64, 10000.0, 0.4, 512.0, 1024.0), (6, 500000.0, 1.0, 100.5, -2.75)]
POSITIONS = [0, 1, 2, 511, 512, 1023, 1024, 1025, 4095]


def balls(dim, base, gamma, scale_base, center, pair, position):
    angle = position * (-arb(base).log() * arb(2 * pair) / dim).exp()
    zeta = (2 * pair + arb(gamma) * dim) / (dim + arb(gamma) * dim)
    scale = ((arb(position) - arb(center)) / arb(scale_base) * zeta.log()).exp()
    sine, cosine = angle.sin_cos()
    return [cosine * scale, sine * scale, cosine / scale, sine / scale]


def main():
    ctx.prec = 400
    rows = [f"# cos and sin of queries, cos and sin of keys; made by make_xpos.py with {versions()}",
            "dim,base,gamma,scale_base,center,pair,position,type,q_cos,q_sin,k_cos,k_sin"]
    for case in CASES:
        dim = case[0]
        for position in POSITIONS:
            for pair in {0, 1, dim // 4, dim // 2 - 1}:
                values = balls(*case, pair, position)
                for fmt in (F64, F32, F16, BF16):
                    bits = [round_ball(ball, fmt) for ball in values]
                    assert None not in bits
                    cells = ",".join(f"{b:0{DIGITS[fmt.name]}x}" for b in bits)
                    rows.append(",".join(repr(x) for x in case) + f",{pair},{position},{fmt.name},{cells}")
    (Path(__file__).parent / "xpos.csv").write_text("\n".join(rows) + "\n")
    print(len(rows) - 2, "rows")


if __name__ == "__main__":
    main()
