#!/usr/bin/env python3
"""Mutation testing with all of a crate's mutants in one build.

cargo-mutants says what the mutants are and builds each by itself: hours for thousands. Here every
function becomes a choice between its own body and the bodies that cargo-mutants would put in its
place; one build holds them all, and the environment of a test run says which one is alive. A first
pass writes down which tests come to which function, so that a mutant is tried with those alone, the
quickest first, each failure ending the try.

    cargo install cargo-mutants --locked
    tests/scripts/mutants.py core FOLDER [-f FILE ...]     # pe-core; FILE: a start of a path under src
    tests/scripts/mutants.py candle FOLDER -f checkpoint   # pe-candle's reader and writer
    tests/scripts/mutants.py core FOLDER --sample 60       # 60 of them, drawn with --seed
    tests/scripts/mutants.py core FOLDER --again           # what was not caught last time
    tests/scripts/mutants.py --check                       # equivalent.toml alone, without a build

FOLDER/outcome.json says of each mutant: caught, missed, unreached (no test comes to its function),
timeout (counted as caught), equivalent (missed, and equivalent.toml says why nothing can tell it), or alone: not to be had in this form (constant functions called by
constants, and bodies that do not compile, which cargo-mutants calls unviable), to be tried by
mutants.sh, which FOLDER/alone.txt is for.
"""

import argparse
import concurrent.futures
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

SWITCH = '''
/// Which mutant is alive, and which functions were come to.
pub(crate) mod mutants_switch {
    use std::{env, fs::OpenOptions, io::Write, sync::{LazyLock, Mutex}};
    static ALIVE: LazyLock<u32> =
        LazyLock::new(|| env::var("MUTANT").ok().and_then(|it| it.parse().ok()).unwrap_or(0));
    static TRACE: LazyLock<Option<(String, Mutex<Vec<u32>>)>> =
        LazyLock::new(|| env::var("MUTANT_TRACE").ok().map(|it| (it, Mutex::new(Vec::new()))));
    #[inline(always)]
    pub(crate) fn alive(function: u32) -> u32 {
        if TRACE.is_some() {
            trace(function);
        }
        *ALIVE
    }
    #[inline(never)]
    fn trace(function: u32) {
        let Some((path, seen)) = &*TRACE else { return };
        let mut seen = seen.lock().unwrap();
        if !seen.contains(&function) {
            seen.push(function);
            let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
            file.write_all(format!("{function}\\n").as_bytes()).unwrap();
        }
    }
    #[cold]
    #[inline(never)]
    pub(crate) fn apart<R>(body: impl FnOnce() -> R) -> R {
        body()
    }
}
'''


# What is built of the test package, without pe-demo, and for pe-core without Candle; all of it plainly.
TESTS = {
    'core': ['--test=exact', '--features=pe-core/hf-config,pe-core/rayon'],
    'candle': ['--test=layers', '--test=files', '--test=hub', '--features=pe-tests/candle,pe-candle/hub'],
}
for profile in ('dev.package."*"', 'dev.package.pe-core', 'dev'):
    level = int(profile != 'dev.package."*"')
    for tests in TESTS.values():
        tests += ['--config', f'profile.{profile}.opt-level={level}', '--config', f'profile.{profile}.debug=false']


def copy(folder):
    """Copies the sources of the working tree to the folder; what was built there stays."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in ('pe-core', 'pe-candle', 'pe-demo', 'tests'):
        shutil.rmtree(folder / old, ignore_errors=True)
    command = ['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard']
    for file in subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split('\0'):
        if file and (ROOT / file).is_file():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, folder / file)


def plain(text):
    """`text` with its comments, strings and characters blanked out: the braces left are code."""
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?\'(?:\\[^\n\']+|[^\\\'\n])\'', re.S
    )
    return pattern.sub(lambda m: re.sub(r'[^\n]', ' ', m.group(0)), text)


def body_start(code, start, end):
    """Where the function's body opens: its first brace outside parentheses and brackets."""
    depth = 0
    for at in range(start, end):
        if code[at] in '([':
            depth += 1
        elif code[at] in ')]':
            depth -= 1
        elif code[at] == '{' and depth == 0:
            return at
    raise ValueError('no body')


class Crate:
    """A crate's sources with its mutants built in."""

    def __init__(self, folder, package, mutants):
        self.folder, self.package = folder, package
        self.mutants = {number + 1: mutant for number, mutant in enumerate(mutants)}
        self.alone = {}  # number: why
        self.constant = set()  # names of constant functions that must stay so
        self.function_of = {}
        self.places = {}  # file: [(first line, last line, number)]
        self.texts = {f: (folder / f).read_text() for f in sorted({m['file'] for m in mutants})}
        library = folder / package / 'src/lib.rs'
        library.write_text(library.read_text() + SWITCH)
        self.texts.pop(f'{package}/src/lib.rs', None)

    def write(self):
        """Writes the sources, without those mutants that stand in `alone`."""
        function_number = 0
        self.places = {}
        for file, text in self.texts.items():
            lines = [0]
            for line in text.split('\n'):
                lines.append(lines[-1] + len(line) + 1)
            offset = lambda place: lines[place['line'] - 1] + place['column'] - 1
            code = plain(text)
            spans, inside = [], {}
            for number, mutant in self.mutants.items():
                if mutant['file'] != file or number in self.alone:
                    continue
                if not mutant['function']:
                    self.alone[number] = 'in no function'
                    continue
                span = mutant['function']['span']
                spans.append((offset(span['start']), offset(span['end'])))
                inside[number] = (offset(mutant['span']['start']), offset(mutant['span']['end']))
            # Functions in functions go with the outer one.
            outer = []
            for span in sorted(set(spans), key=lambda s: (s[0], -s[1])):
                if not outer or span[0] >= outer[-1][1]:
                    outer.append(span)
            out, done, places = '', 0, []
            for start, end in outer:
                opening = body_start(code, start, end)
                closing = code.rindex('}', start, end)
                head = text[start:opening]
                name = re.search(r'\bfn\s+(\w+)', plain(head)).group(1)
                numbers = [n for n, (s, _) in inside.items() if start <= s < end]
                if re.search(r'\bconst\s+(unsafe\s+)?fn\b', plain(head)):
                    if name in self.constant:
                        self.alone.update({n: 'constant function' for n in numbers})
                        continue
                    head = re.sub(r'\bconst\s+fn\b', 'fn', head)
                # Bodies within bodies within bodies: the mutants of what is inlined are called.
                inlined = 'inline(always)' in plain(head)
                function_number += 1
                out += text[done:start] + head
                out += f'{{ match crate::mutants_switch::alive({function_number}) {{\n'
                for n in numbers:
                    s, e = inside[n]
                    self.function_of[n] = function_number
                    if s < opening:
                        self.alone[n] = 'not in the body'
                        continue
                    new = self.mutants[n]['replacement']
                    arm = text[opening:s] + new + text[e:closing + 1]
                    if inlined:
                        arm = f'crate::mutants_switch::apart(move || {arm})'
                    arm = f'{n} => {arm},\n'
                    first = out.count('\n') + 1
                    out += arm
                    places.append((first, out.count('\n'), n))
                out += f'_ => {text[opening:closing + 1]}\n}} }}'
                done = end
            out += text[done:]
            (self.folder / file).write_text(out)
            self.places[file] = places

    def build(self, options):
        """Builds the tests, dropping what does not compile; the paths of the binaries."""
        for _ in range(30):
            self.write()
            command = ['cargo', 'test', '--offline', '--no-run', '--message-format=json', *options]
            environment = {**os.environ, 'RUSTFLAGS': '--cap-lints=allow'}
            result = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)
            messages = [json.loads(line) for line in result.stdout.splitlines() if line.startswith('{')]
            if result.returncode == 0:
                # Copies: the next build may put others in their place.
                binaries = self.folder / 'binaries'
                binaries.mkdir(exist_ok=True)
                return [
                    (Path(shutil.copy2(m['executable'], binaries)), Path(m['manifest_path']).parent)
                    for m in messages if m.get('executable') and m['profile']['test']
                ]
            before = len(self.alone) + len(self.constant)
            for message in messages:
                if message['reason'] != 'compiler-message' or not message['message']['level'].startswith('error'):
                    continue
                self.blame(message['message'])
            print(f'  {len(self.alone)} alone, {len(self.constant)} constant functions', flush=True)
            if len(self.alone) + len(self.constant) == before:
                sys.exit(result.stderr[-6000:] + '\n'.join(
                    m['message']['rendered'] for m in messages if m['reason'] == 'compiler-message')[-6000:])
        sys.exit('the mutants do not build')

    def blame(self, message):
        code = (message.get('code') or {}).get('code', '')
        if code == 'E0015':
            for name in re.findall(r'`(?:[^`]*::)?(\w+)(?:::<[^`]*>)?(?:\([^`]*\))?`', message['message']):
                self.constant.add(name)
        for span in message['spans']:
            while span:
                for first, last, number in self.places.get(span['file_name'], []):
                    if first <= span['line_start'] <= last and (code != 'E0015' or span['is_primary']):
                        self.alone[number] = f"does not compile: {message['message'][:100]}"
                span = (span.get('expansion') or {}).get('span')


def arguments():
    """The mutants of equivalent.toml: file, line of code, change."""
    with open(ROOT / 'tests/scripts/equivalent.toml', 'rb') as file:
        return {(m['file'], m['line'], change) for m in tomllib.load(file)['mutant'] for change in m['changes']}


def stale():
    """What equivalent.toml says of code that is no longer there, a line each."""
    with open(ROOT / 'tests/scripts/equivalent.toml', 'rb') as file:
        mutants = tomllib.load(file)['mutant']
    for mutant in mutants:
        path = ROOT / mutant['file']
        text = path.read_text() if path.is_file() else None
        if text is None:
            yield f"{mutant['file']}: no such file"
        elif mutant['line'] not in map(str.strip, text.split('\n')):
            yield f"{mutant['file']}: no line `{mutant['line']}`"
        else:
            for change in mutant['changes']:
                function = (re.search(r' in (?:.*::)?(\w+)$', change)
                            or re.match(r'replace (?:.*::)?(\w+) (?:->|with \(\))', change))
                if function and not re.search(rf'\bfn {function.group(1)}\b', text):
                    yield f"{mutant['file']}: no function for `{change}`"


class Check(argparse.Action):
    def __call__(self, parser, *_):
        found = list(stale())
        parser.exit(bool(found), ''.join(f'{line}\n' for line in found))


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(binary, names, environment, limit, folder):
    """Whether these tests of the binary pass: True, False, or None when time is up."""
    command = [binary, '--exact', *names, '--test-threads=1']
    process = subprocess.Popen(
        command, cwd=folder, env={**os.environ, 'PROPTEST_MAX_SHRINK_ITERS': '0', 'RUST_BACKTRACE': '0', **environment},
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, preexec_fn=limited, start_new_session=True)
    end = threading.Timer(limit, lambda: process.kill())
    late = time.monotonic() + limit
    end.start()
    passed = False
    for line in process.stdout:
        if line.startswith('test result: ok'):
            passed = True
        if re.match(r'test .*FAILED$', line) or line.startswith('error: test failed'):
            process.kill()
            break
    process.wait()
    end.cancel()
    if not passed and time.monotonic() >= late:
        return None
    return passed and process.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('kind', choices=['core', 'candle'])
    parser.add_argument('folder', type=Path)
    parser.add_argument('-f', '--file', action='append', default=[])
    parser.add_argument('-j', '--jobs', type=int, default=os.cpu_count())
    parser.add_argument('--again', action='store_true')
    parser.add_argument('--sample', type=int, metavar='N', help='try N mutants, drawn with the seed')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--check', action=Check, nargs=0, help='find the entries of equivalent.toml that are stale')
    parser.add_argument('--skip', action='append', default=['exhaustive_', 'entries_out_of_rotated_blocks'])
    parser.add_argument('--longest', type=float, default=600, help='seconds; tests that take longer are not tried')
    given = parser.parse_args()
    folder = given.folder.resolve()
    package = f'pe-{given.kind}'

    copy(folder)
    command = ['cargo', 'mutants', '--list', '--json', '--package', package]
    mutants = json.loads(subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout)
    mutants = [m for m in mutants if not given.file
               or any(m['file'].startswith(f'{package}/src/{f}') for f in given.file)]
    outcome_file = folder / 'outcome.json'
    outcome = json.loads(outcome_file.read_text()) if outcome_file.exists() else {}
    if given.again:
        mutants = [m for m in mutants if outcome.get(m['name']) not in ('caught', 'timeout', 'equivalent')]
    if given.sample is not None and given.sample < len(mutants):
        mutants = random.Random(given.seed).sample(mutants, given.sample)
    print(f'{len(mutants)} mutants', flush=True)

    crate = Crate(folder, package, mutants)
    start = time.monotonic()
    binaries = crate.build(['-p', package, '-p', 'pe-tests', '--no-default-features', '--lib', *TESTS[given.kind]])
    print(f'built in {time.monotonic() - start:.0f} s, {len(crate.alone)} to be tried alone', flush=True)

    # Which tests come to which function, and how long each takes.
    reach, durations = {}, {}
    trace = folder / 'trace'
    where = dict(binaries)
    for binary in where:
        listed = subprocess.run([binary, '--list', '--format=terse'], capture_output=True, text=True, cwd=folder).stdout
        ignored = subprocess.run([binary, '--list', '--format=terse', '--ignored'], capture_output=True, text=True,
                                 cwd=folder).stdout.splitlines()
        for line in listed.splitlines():
            name = line.removesuffix(': test')
            if line in ignored or not line.endswith(': test') or any(s in name for s in given.skip):
                continue
            trace.unlink(missing_ok=True)
            start = time.monotonic()
            if not run(binary, [name], {'MUTANT_TRACE': str(trace)}, 600, where[binary]):
                print(f'fails without any mutant: {name}', flush=True)
                continue
            took = time.monotonic() - start
            if took > given.longest:
                print(f'takes {took:.0f} s: {name}', flush=True)
                continue
            durations[binary, name] = took
            for function in map(int, trace.read_text().split()) if trace.exists() else ():
                reach.setdefault(function, []).append((binary, name))
    print(f'{len(durations)} tests, {sum(durations.values()):.0f} s', flush=True)

    argued = arguments()
    originals = {f: text.split('\n') for f, text in crate.texts.items()}

    def attempt(number):
        what = tried(number)
        mutant = crate.mutants[number]
        if what in ('missed', 'unreached'):
            line = originals[mutant['file']][mutant['span']['start']['line'] - 1].strip()
            change = mutant['name'].split(': ', 1)[1]
            if (mutant['file'], line, change) in argued:
                what = 'equivalent'
        return number, what

    def tried(number):
        tests = sorted(reach.get(crate.function_of[number], ()), key=durations.get)
        if not tests:
            return 'unreached'
        # The quick ones, then those that take a while: in portions, each a process of one binary.
        portions, spent = [], 0
        for binary, name in tests:
            took = durations[binary, name]
            if not portions or portions[-1][0] != binary or spent + took > max(0.3, 4 * portions[0][2]):
                portions.append([binary, [], 0])
                spent = 0
            portions[-1][1].append(name)
            portions[-1][2] += took
            spent += took
        for binary, names, took in portions:
            passed = run(binary, names, {'MUTANT': str(number)}, 20 + 10 * took, where[binary])
            if passed is None:
                return 'timeout'
            if not passed:
                return 'caught'
        return 'missed'

    for number, why in crate.alone.items():
        outcome[crate.mutants[number]['name']] = f'alone ({why})'
    start = time.monotonic()
    numbers = [n for n in crate.mutants if n not in crate.alone]
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for done, (number, what) in enumerate(pool.map(attempt, numbers)):
            name = crate.mutants[number]['name']
            outcome[name] = what
            if what in ('missed', 'unreached'):
                print(f'{what}: {name}', flush=True)
            if done % 50 == 0:
                outcome_file.write_text(json.dumps(outcome, indent=1))
                print(f'  {done} of {len(numbers)}, {time.monotonic() - start:.0f} s', flush=True)
    outcome_file.write_text(json.dumps(outcome, indent=1))
    names = [crate.mutants[n]['name'] for n in crate.alone]
    (folder / 'alone.txt').write_text(''.join(f'{name}\n' for name in names))
    counts = {}
    for mutant in crate.mutants.values():
        word = outcome[mutant['name']].split()[0]
        counts[word] = counts.get(word, 0) + 1
    print(counts)


main()
