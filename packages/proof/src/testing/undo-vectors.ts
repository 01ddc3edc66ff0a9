// Undoings of runs, as events of their logs: those that verifiers take, and those that they find.

const stop = ['run.compensating', 'run', { state: 'failed', reason: 'model_failed' }] as const
const intend = (id: string, more = {}) =>
  ['tool.intended', id, { effect: 'once', ...more }] as const
const done = (id: string) => ['tool.completed', id, { state: 'done' }] as const
const undo = (id: string, of: string) => intend(id, { compensates: of })
const undone = (id: string, of: string, state = 'done') =>
  ['tool.compensated', id, { compensates: of, state }] as const
const end = (compensation?: string, more = {}) =>
  ['run.failed', 'run', { state: 'failed', reason: 'model_failed', compensation, ...more }] as const

export type UndoEvent = readonly [string, string, Readonly<Record<string, unknown>>]

const stoppedBy = (compensation_stopped: string, ...left: string[]) => ({
  compensation_stopped,
  left,
})
const cut: readonly UndoEvent[] = [
  intend('c', { effect: 'idempotent' }),
  ['tool.failed', 'c', { state: 'failed', reason: 'not_reported' }],
]
const both = [intend('a'), done('a'), intend('b'), done('b')]
const undoBoth = [undo('x', 'b'), undone('x', 'b'), undo('y', 'a'), undone('y', 'a')]
export const UNDONE: Readonly<Record<string, readonly UndoEvent[]>> = {
  'a run that stops': [...both, end()],
  'nothing to undo': [end('complete')],
  'everything undone': [...both, stop, ...undoBoth, end('complete')],
  'one left': [...both, stop, undo('x', 'b'), undone('x', 'b'), end('partial')],
  'one refused': [...both, stop, undone('x', 'b', 'denied'), end('none')],
  'one listed as left': [...both, stop, ...undoBoth.slice(0, 2), end('partial', { left: ['a'] })],
  'ended by somebody': [...both, stop, end('none', stoppedBy('cancelled', 'b', 'a'))],
  'an idempotent call that was cut off': [...cut, stop, end('none', { left: ['c'] })],
  // Services that do not write `left` count no call that was cut off.
  'a cut call, everything undone, without a list': [
    ...cut,
    ...both,
    stop,
    ...undoBoth,
    end('complete'),
  ],
  'a cut call, nothing undone, without a list': [...cut, ...both, stop, end('none')],
  'a cut call and no other, without a list': [...cut, stop, end('complete')],
  'a cut call, ended without a stop': [...cut, end('complete')],
}

export const NEVER_UNDONE: typeof UNDONE = {
  'before it stops': [...both, ...undoBoth, end('complete')],
  twice: [...both, stop, ...undoBoth, undo('z', 'a'), undone('z', 'a'), end('complete')],
  'twice, by one call': [...both, stop, ...undoBoth, undone('y', 'a'), end('complete')],
  'of a call that was not done': [intend('a'), stop, undo('x', 'a'), undone('x', 'a'), end('none')],
  'more than it did': [...both, stop, undo('x', 'b'), undone('x', 'b'), end('complete')],
  'less than it did': [...both, stop, ...undoBoth, end('partial')],
  'without saying so': [...both, stop, ...undoBoth, end()],
  'and says it without': [...both, end('complete')],
  'and goes on': [...both, stop, intend('c'), done('c'), ...undoBoth, end('complete')],
  'and ends otherwise': [...both, stop, ...undoBoth, end('complete', { reason: 'cancelled' })],
  'and lists another': [...both, stop, end('none', { left: ['a'] })],
  'and lists what it undid': [...both, stop, ...undoBoth, end('complete', { left: ['a'] })],
  'and lists without stopping': [...both, end(undefined, { left: ['a', 'b'] })],
  'and hides what is left': [
    ...both,
    stop,
    end('none', { compensation_stopped: 'deadline_exceeded' }),
  ],
  'and is ended by nobody': [...both, stop, end('none', stoppedBy('policy', 'a', 'b'))],
  'and is ended after all': [...both, stop, ...undoBoth, end('complete', stoppedBy('cancelled'))],
  'and is ended before it stops': [...both, end(undefined, stoppedBy('cancelled', 'a', 'b'))],
  'and leaves a cut call out': [...cut, stop, end('complete', { left: [] })],
  'and counts a cut call without a list': [...cut, ...both, stop, ...undoBoth, end('partial')],
  'and stops again': [...both, stop, stop, ...undoBoth, end('complete')],
}
