#!/usr/bin/env python3
"""Keeps some of what a fuzz target found: `keep.py TARGET FOLDER` writes kept/TARGET.json.

A list of 150 short inputs as texts in which each character is a byte, which the tests read.
"""

import json
import random
import sys
from pathlib import Path

target, folder = sys.argv[1:]
inputs = [file.read_bytes() for file in sorted(Path(folder).iterdir())]
short = [data for data in inputs if 0 < len(data) <= 400]
kept = sorted(random.Random(1).sample(short, min(150, len(short))))
texts = [data.decode("latin1") for data in kept]
place = Path(__file__).parent / "kept" / f"{target}.json"
place.write_text(json.dumps(texts, indent=0) + "\n")
