#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""--json: every line is valid by the schema, and says what the text says.

The expected text is not ours: the scenarios of test/golden have it by hand, the cases of the
conformance suite (if it is beside the repository) from the reference tools. Each of their command
lines is run again with --json; text is made from the objects, here, and must be the expected one.
"""
import json, os, re, shlex, subprocess, sys, tempfile

try:
    import jsonschema
except ImportError:
    print('skipped: no python3-jsonschema')
    sys.exit(77)

here = os.path.dirname(os.path.abspath(__file__))
source = os.environ.get('PT_SOURCE', os.path.dirname(os.path.dirname(here)))
build = os.environ.get('PT_BUILD', source + '/build')
shared = os.environ.get('PT_SHARED', source + '/../shared')
os.environ['PATH'] = '%s/bin:%s/bin/test:%s' % (build, build, os.environ['PATH'])
schema = json.load(open(source + '/tool/schema/libpt-lines.schema.json'))
jsonschema.Draft202012Validator.check_schema(schema)
whole = jsonschema.Draft202012Validator(schema)
of_type = {t: jsonschema.Draft202012Validator({'$ref': '#/$defs/' + t, '$defs': schema['$defs']})
           for t in schema['$defs'] if t not in ('hex', 'count', 'bytes', 'seconds')}
failures = 0
seen = {}  # type: how many lines were validated


def fail(what):
    global failures
    failures += 1
    if failures < 40:
        print('FAIL:', what)
    return 0


def no_duplicates(pairs):
    keys = [k for k, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError('a key stands twice: %s' % keys)
    return dict(pairs)


def parse(name, out, limit=300):
    """The objects of the lines; the first ones of each type are validated."""
    objects, count = [], {}
    for line in out.split(b'\n')[:-1]:
        try:
            o = json.loads(line.decode('utf-8'), object_pairs_hook=no_duplicates)
        except ValueError as e:
            fail('%s: no JSON: %s: %s' % (name, e, line[:200]))
            continue
        objects.append(o)
        t = o.get('type')
        count[t] = count.get(t, 0) + 1
        if count[t] > limit:
            continue
        seen[t] = seen.get(t, 0) + 1
        if t not in of_type:
            fail('%s: no such type in the schema: %s' % (name, t))
        elif not of_type[t].is_valid(o):
            fail('%s: %s: %s' % (name, next(of_type[t].iter_errors(o)).message, line[:300]))
        elif count[t] <= 3 and not whole.is_valid(o):
            fail('%s: valid as %s, but not as a line: %s' % (name, t, line[:300]))
    if out and not out.endswith(b'\n'):
        fail('%s: the last line has no end' % name)
    return objects


# --- text from objects ------------------------------------------------------------------

num = lambda s: int(s, 16)
short = lambda s: '%x' % num(s)
full = lambda s: '%016x' % num(s)
cfe_vector = {1, 9, 12, 14}


def packet_payload(o):
    p = o['packet']
    if p in ('tnt.8', 'tnt.64'):
        return o['tnt'].replace('1', '!').replace('0', '.')
    if p in ('tip', 'tip.pge', 'tip.pgd', 'fup'):
        known = {0: 0, 1: 4, 2: 8, 3: 16, 4: 12, 6: 16}[o['ipc']]
        digits = full(o['payload']) if o['ipc'] else ''
        return '%d: %s' % (o['ipc'], '?' * (16 - known) + (digits[16 - known:] if known else ''))
    join = lambda *words: ', '.join(w for w in words if w)
    if p == 'mode.exec':
        return join('cs.d' if o['cs_d'] else '', 'cs.l' if o['cs_l'] else '', 'if' if o['if'] else '')
    if p == 'mode.tsx':
        return join('intx' if o['intx'] else '', 'abrt' if o['abrt'] else '')
    if p == 'pip':
        return join(short(o['cr3']), 'nr' if o['nr'] else '')
    if p == 'vmcs':
        return short(o['base'])
    if p in ('tsc', 'mnt'):
        return short(o['payload'])
    if p == 'tma':
        return '%x, %x' % (o['ctc'], o['fc'])
    if p == 'mtc':
        return '%x' % o['ctc']
    if p == 'cyc':
        return '%x' % o['cycles']
    if p == 'cbr':
        return '%x' % o['ratio']
    if p in ('exstop', 'bep'):
        return 'ip' if o['fup'] else ''
    if p == 'mwait':
        return '%08x, %08x' % (num(o['hints']), num(o['ext']))
    if p == 'pwre':
        return join('c%d.%d' % (o['state'], o['sub_state']), 'hw' if o['hw'] else '')
    if p == 'pwrx':
        reasons = [w for w, k in (('int', 'interrupt'), (' st', 'store'), (' hw', 'autonomous')) if o[k]]
        return '%s: c%d, c%d' % (reasons[0] if len(reasons) == 1 else 'bad', o['last'], o['deepest'])
    if p == 'ptw':
        return join('%d: %s' % (o['size'] == 10, short(o['payload'])), 'ip' if o['fup'] else '')
    if p == 'cfe':
        vector = ': %d' % o['vector'] if o['cfe'] in cfe_vector else ': %x' % o['vector'] if o['cfe'] == 5 else ''
        return join('%d%s' % (o['cfe'], vector), 'ip' if o['fup'] else '')
    if p == 'evd':
        return '%d: %s' % (o['evd'], short(o['payload']))
    if p == 'bbp':
        return '%x: %d' % (o['bbp'], 4 if o['sz4'] else 8)
    if p == 'bip':
        return '%x: %s' % (o['id'], short(o['payload']))
    if p == 'trig':
        return join('%02x' % num(o['vector']), 'ip' if o['fup'] else '', 'mult' if o['mult'] else '',
                    'icnt: %d' % o['icnt'] if o['icntv'] else '')
    return ''


def packet_track(o, args, before):
    """Id and value of the last column."""
    p = o['packet']
    if p in ('tip', 'tip.pge', 'tip.pgd', 'fup'):
        if '--lastip' not in args:
            return None
        return 'ip', full(o['ip']) if 'ip' in o else '<suppressed>' if o['ipc'] == 0 else '<unavailable>'
    if p == 'mode.exec':
        return ('em', o['mode']) if '--exec-mode' in args else None
    if p in ('pip', 'vmcs'):
        return ('cr3', full(o['cr3'])) if p == 'pip' else ('vmcs', full(o['base']))
    if p in ('cfe', 'evd', 'bbp'):
        return 'type', o['kind']
    if '--time' in args and p in ('tsc', 'tma', 'mtc', 'cyc'):
        if 'tsc' not in o:
            before.append(('error printing time',))
            return 'tsc', '<unavailable>'
        return 'tsc', full(o['tsc'])
    if '--tcal' in args and p in ('tsc', 'mtc', 'cbr'):
        if 'fcr' not in o:
            before.append(('error printing time',))
            return 'fcr', '<unavailable>'
        return 'fcr', '%.3f' % o['fcr']
    return None


def packet_text(o, args, lines):
    before = []
    payload, track = packet_payload(o), packet_track(o, args, before)
    lines += ['[%x: error printing time: %s]' % (o['offset'], '...') for _ in before]
    text = '' if '--no-offset' in args else '%016x  ' % o['offset']
    if '--raw' in args:
        text += '%-33s ' % o['bytes']
    body = '%-10s %s' % (o['packet'], payload) if payload else o['packet']
    if track:
        body = '%-36s %-5s%s' % (body, *track) if payload else '%s %-25s %-5s%s' % (o['packet'], '', *track)
    lines.append(text + body)


def event_body(o, ip):
    e = o['event']
    cs = lambda k: 'c%d' % o[k]
    nr = ', nr' if o.get('nr') else ''
    where = lambda what, key: ', %s: %s' % (what, full(o[key])) if ip and key in o else ''
    at_ip = where('ip', 'ip')
    table = {
        'enabled': lambda: ('resumed' if o['resumed'] else 'enabled') + at_ip,
        'async_disabled': lambda: 'disabled' + where('at', 'at') + at_ip,
        'async_branch': lambda: 'interrupt' + where('from', 'from') + where('to', 'ip'),
        'paging': lambda: 'paging, cr3: ' + full(o['cr3']) + nr,
        'async_paging': lambda: 'paging, cr3: ' + full(o['cr3']) + nr + at_ip,
        'vmcs': lambda: 'vmcs, base: ' + full(o['base']),
        'async_vmcs': lambda: 'vmcs, base: ' + full(o['base']) + at_ip,
        'exec_mode': lambda: 'exec mode: ' + ('%d-bit' % o['mode'] if o['mode'] else '<unknown>') + at_ip,
        'tsx': lambda: ('aborted' if o['aborted'] else 'begin transaction' if o['speculative'] else 'committed') + at_ip,
        'stop': lambda: 'stopped',
        'mwait': lambda: 'mwait %x %x' % (num(o['hints']), num(o['ext'])) + at_ip,
        'pwre': lambda: 'pwre %s.%d%s' % (cs('state'), o['sub_state'], ' hw' if o['hw'] else ''),
        'pwrx': lambda: 'pwrx %s%s%s%s (%s)' % ('int: ' if o['interrupt'] else '', 'st: ' if o['store'] else '',
                                                'hw: ' if o['autonomous'] else '', cs('last'), cs('deepest')),
        'ptwrite': lambda: 'ptwrite: ' + short(o['payload']) + at_ip,
        'cbr': lambda: 'cbr: %x' % o['ratio'],
        'mnt': lambda: 'mnt: ' + short(o['payload']),
        'intr': lambda: 'interrupt %d' % o['vector'] + (', cr2: ' + full(o['cr2']) if 'cr2' in o else '') + at_ip,
        'rsm': lambda: 'rsm',
        'sipi': lambda: 'sipi: %x' % o['vector'],
        'vmexit': lambda: 'vmexit' + (', intr: %d' % o['vector'] if 'vector' in o else '') +
        ''.join(', %s: %s' % (k, full(o[k])) for k in ('vmxr', 'vmxq') if k in o) + at_ip,
        'uintr': lambda: 'uintr %d' % o['vector'] + at_ip,
        'swintr': lambda: 'swintr %d' % o['vector'] + at_ip,
        'iflag': lambda: 'interrupts %sabled' % ('en' if o['if'] else 'dis') + at_ip,
        'trig': lambda: 'trig %02x%s' % (num(o['vector']), ', mult' if o['mult'] else '') + at_ip +
        (', icnt: %d' % o['icnt'] if o['icnt'] else ''),
        'context': lambda: 'context: pid-%x' % o['pid'],
    }
    return table.get(e, lambda: e + at_ip)()


def ptxed_text(o, args, lines):
    t = o['type']
    if t == 'insn':
        text = '%016x  ' % o['offset'] if '--offset' in args else ''
        text += full(o['tsc']) + '  ' if '--time' in args else ''
        text += '? ' if o.get('speculative') else ''
        text += full(o['ip'])
        if '--symbols' in args and 'symbol' in o:
            text += ' <%s+0x%x>' % (o['symbol'], o['symbol_offset'])
        if '--raw-insn' in args:
            text += ('%-45s' % ''.join(' ' + o['bytes'][i:i + 2] for i in range(0, len(o['bytes']), 2)))
        if '--no-inst' not in args:
            raw = '' if '--raw-insn' in args else re.sub('(..)', r' \1', o['bytes'])
            text += '  ' + o['text'] if 'text' in o else raw + ' [decode error: unknown to the disassembler]'
        lines.append(text)
    elif t == 'event':
        text = '[' + ('%016x  ' % o['offset'] if '--offset' in args else '')
        text += full(o['tsc']) + '  ' if '--event:time' in args and 'tsc' in o else ''
        lines.append(text + event_body(o, '--event:ip' in args) + ']')
    elif t == 'error':
        what = o.get('what') or {'flow': '', 'sync': 'sync ', 'resync': 'resync '}[o['phase']] + 'error: ' + o['status']
        lines.append('[%x, %s: %s]' % (o['offset'], short(o['ip']), what))
    elif t == 'end':
        lines.append('[end of trace]')
    elif t == 'stat':
        lines += ['insn: %d.' % o['insns']] if 'insns' in o else []
        lines += ['blocks:\t%d.' % o['blocks']] if 'blocks' in o else []
    else:
        record_text(o, args, lines)


def record_text(o, args, lines):
    if o['type'] == 'note':
        lines.append('[%s:%016x sideband %s: %s]' % (o['file'], o['offset'], o['severity'], o['what']))
    elif o['type'] == 'record':
        lines.append(o)  # compared by its values
    else:
        fail('a line of type %s' % o['type'])


def dump_text(o, args, lines):
    if o['type'] == 'packet':
        packet_text(o, args, lines)
    elif o['type'] == 'error':
        lines.append('[%x: %s%s]' % (o['offset'], o['what'], ': ' + o['status'] if 'status' in o else ''))
    elif o['type'] != 'summary':
        record_text(o, args, lines)


def same_record(o, text):
    """All numbers of the object are in the text, in order of neither."""
    left = re.split(r'[^0-9a-z]+', text.split('  ', 1)[-1])
    values = [v for k, v in list(o.items()) + list(o.get('sample', {}).items())
              if k not in ('type', 'file', 'offset', 'tsc', 'record', 'record_type', 'misc', 'sample')]
    name = o['record'] in text or 'UNKNOWN' in text
    return name and all(('%x' % v if isinstance(v, int) else short(v) if re.match('0x[0-9a-f]+$', v) else None)
                        in left + [None] for v in values)


def compare(name, args, want, got):
    want = [re.sub(r'(error printing time): .*\]', r'\1: ...]', l.rstrip()) for l in want]
    records = [g for g in got if isinstance(g, dict)]
    if records and '--sb:verbose' in args:  # many lines each
        return 0
    for i, (w, g) in enumerate(zip(want, got)):
        if isinstance(g, dict):
            if not same_record(g, w):
                return fail('%s: line %d: %s is not %s' % (name, i + 1, g, w))
        elif w != g.rstrip():
            return fail('%s: line %d: %r, not %r' % (name, i + 1, g, w))
    if len(want) != len(got):
        return fail('%s: %d lines, not %d: %s' % (name, len(got), len(want), (want + got)[-1]))
    return 1


def run(name, argv, where, want):
    """Run with --json; compare with the text wanted. Returns 1 if it was compared."""
    if {'--time-delta', '--no-tcal', '--stat:functions'} & set(argv) or any(a.startswith(('--block:show', '--fields')) for a in argv):
        return 0
    more = ['--json']
    out = subprocess.run([argv[0]] + more + argv[1:], cwd=where, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         stdin=subprocess.DEVNULL, timeout=60).stdout
    lines, text = [], dump_text if argv[0] == 'ptdump' else ptxed_text
    for o in parse(name, out):
        text(o, argv, lines)
    return compare(name, argv, want, lines)


# --- the cases -----------------------------------------------------------------------------


def scenario(path, work):
    """Code, trace, and (tool line, expected lines) of a scenario of test/golden."""
    parts, checks, code = [], [], []
    for line in open(path):
        if line.startswith('== '):
            parts.append((line[3:].strip(), []))
        elif parts:
            parts[-1][1].append(line)
    for head, body in parts:
        word = head.split()
        if word[0] in ('code', 'trace'):
            prefix = 'hex ' if word[0] == 'code' else ''
            text = ''.join(prefix + re.sub('#.*', '', l).rstrip() + '\n' for l in body)
            name = '%s/%s' % (work, word[0] if word[0] == 'trace' else 'code%d' % len(code))
            with open(name, 'wb') as f:
                f.write(subprocess.run(['helper_trace'], input=text.encode(), stdout=subprocess.PIPE, check=True).stdout)
            if word[0] == 'code':
                code += ['--raw', '%s:0x%s' % (name, word[1])]
        elif word[0] in ('ptdump', 'ptxed'):
            checks.append((head, body))
    for head, body in checks:
        argv = shlex.split(head)
        if '%trace' in head:
            argv = [a.replace('%trace', 'trace') for a in argv]
        elif argv[0] == 'ptxed':
            argv = ['ptxed'] + code + argv[1:] + ['--pt', 'trace']
        else:
            argv.append('trace')
        yield argv, [l.rstrip('\n') for l in body]


def golden():
    compared = 0
    for name in sorted(os.listdir(source + '/test/golden')):
        if not name.endswith('.scn'):
            continue
        with tempfile.TemporaryDirectory() as work:
            for argv, want in scenario('%s/test/golden/%s' % (source, name), work):
                compared += run('%s: %s' % (name, ' '.join(argv)), argv, work, want)
    print('test/golden: %d compared' % compared)
    if compared < 40:
        fail('only %d golden texts were compared' % compared)


def conformance(cases, least):
    if not os.path.isdir(cases):
        print('no', cases)
        return
    compared = 0
    for case in sorted(os.listdir(cases)):
        done = set()
        for line in open('%s/%s/cmds' % (cases, case)):
            exp, *argv = shlex.split(line)
            path = '%s/%s/%s' % (cases, case, exp)
            if exp.endswith('.sha256') or os.path.getsize(path) > 400000 or tuple(argv) in done:
                continue
            done.add(tuple(argv))
            want = open(path, errors='replace').read().splitlines()
            compared += run('%s: %s' % (case, ' '.join(argv)), argv, '%s/%s' % (cases, case), want)
    print('%s: %d compared' % (os.path.basename(os.path.dirname(cases)), compared))
    if compared < least:
        fail('only %d texts of %s were compared' % (compared, cases))


def blocks(work):
    """Blocks are the instructions, grouped: same addresses, bytes and number."""
    trace = next(scenario(source + '/test/golden/call-ret.scn', work))[0]
    base = [a for a in trace[1:] if a != '--no-inst' and not a.startswith('--stat')]
    read = lambda *o: parse('blocks', subprocess.run(['ptxed'] + list(o) + base, cwd=work, stdout=subprocess.PIPE).stdout)
    insns = [o for o in read('--json=insns') if o['type'] == 'insn']
    for b in [o for o in read('--json=blocks') if o['type'] == 'block']:
        part, insns = insns[:b['ninsn']], insns[b['ninsn']:]
        size = sum(len(i['bytes']) // 2 for i in part)
        if not part or part[0]['ip'] != b['ip'] or size != b['size']:
            return fail('block %s: %s' % (b, part[:1]))
    if insns:
        fail('%d instructions are in no block' % len(insns))


def recording(work):
    """A recording: tasks on each line, records, pieces; a name that is not UTF-8."""
    program = os.fsencode(work) + b'/bad\xff"name'
    with open('/bin/true', 'rb') as f, open(program, 'wb') as g:
        g.write(f.read())
    os.chmod(program, 0o755)
    if subprocess.run(['ptcapture', '-o', 'p.data', '--', program], cwd=work, stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL).returncode:
        return print('nothing can be recorded here')
    read = lambda *argv: parse(argv[0], subprocess.run(argv, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
    lines = read('ptxed', '--json', '--fields', 'all', '--symbols', '--sb:compact', '--stat', 'p.data')
    insns = [o for o in lines if o['type'] == 'insn']
    text = subprocess.run(['ptxed', '--raw-insn', 'p.data'], cwd=work, stdout=subprocess.PIPE).stdout.decode().splitlines()
    text = [l for l in text if l[0] != '[']
    if len(text) != len(insns) or len(insns) < 1000:
        fail('%d instructions as text, %d as JSON' % (len(text), len(insns)))
    for t, o in zip(text, insns):
        if t.split()[0] != full(o['ip']) or t[16:61].replace(' ', '') != o['bytes'] or t[63:] != o.get('text', t[63:]):
            return fail('%r, not %s' % (o, t))
    if [o['insns'] for o in lines if o['type'] == 'stat'] != [len(insns)]:
        fail('the number of instructions')
    functions = read('ptxed', '--quiet', '--json', '--stat:functions', '--losses=json:losses.json', 'p.data')
    if sum(o['insns'] for o in functions) != len(insns):
        fail('the numbers of functions')
    with open(work + '/losses.json', 'rb') as f:
        losses = parse('--losses=json', f.read())
    if [(o['type'], o['insns']) for o in losses] != [('losses', len(insns))]:
        fail('the account of losses: %s' % losses)
    names = {o.get('filename_bytes') for o in lines if o['type'] == 'record'}
    if program.hex() not in names:
        fail('a name that is not UTF-8 is lost: %s' % names)
    if not any(o['type'] == 'insn' and 'comm' in o and o['pid'] > 0 and 'time' in o for o in lines):
        fail('no task on the lines')
    pieces = [o for o in read('ptdump', '--json', 'p.data') if o['type'] == 'piece']
    table = subprocess.run(['ptdump', '--list-aux', 'p.data'], cwd=work, stdout=subprocess.PIPE).stdout.decode().splitlines()[1:]
    if [(str(o['offset']), str(o['size'])) for o in pieces] != [tuple(l.split('\t')[4:6]) for l in table]:
        fail('pieces: %s' % pieces)


def check():
    """ptcapture --check: each line of the text is an object."""
    text = subprocess.run(['ptcapture', '--check'], stdout=subprocess.PIPE)
    out = subprocess.run(['ptcapture', '--check', '--json'], stdout=subprocess.PIPE)
    if text.returncode != out.returncode:
        fail('--check: exit status %d, with --json %d' % (text.returncode, out.returncode))
    for line, o in zip(text.stdout.decode().splitlines(), parse('--check', out.stdout)):
        if 'usable' in o:
            same = (o['usable'] == ('can be used' in line)) and o['reason'] in line and o['name'] in line
        else:
            same = line == '%-11s %s' % (o['name'], o['text'])
        if not same:
            fail('--check: %s is not %r' % (o, line))


def schema_bites():
    """The schema refuses what is wrong: or its yes would mean nothing."""
    good = {'type': 'insn', 'ip': '0x401000', 'bytes': '90'}
    for wrong in ({'ip': '401000'}, {'ip': 4198400}, {'ip': '0x0401000'}, {'bytes': '9'}, {'new': 1}, {'type': 'x'}):
        if whole.is_valid(dict(good, **wrong)):
            fail('the schema takes %s' % wrong)
    if not whole.is_valid(good):
        fail('the schema does not take %s' % good)


schema_bites()
check()
golden()
conformance(shared + '/conformance/cases', 400)
conformance(shared + '/real/cases', 5)
with tempfile.TemporaryDirectory() as work:
    blocks(work)
with tempfile.TemporaryDirectory() as work:
    recording(work)
print('validated:', ' '.join('%s %d' % s for s in sorted(seen.items())))
for t in ('check', 'function', 'losses', 'packet', 'insn', 'event', 'error', 'block', 'record', 'piece', 'stat', 'end', 'summary'):
    if not seen.get(t):
        fail('no line of type %s was seen' % t)
if failures:
    print(failures, 'failed')
sys.exit(failures != 0)
