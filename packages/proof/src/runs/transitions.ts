// The states of runs, steps and calls: one table for the server and the offline verifier.

const TRANSITIONS = {
  run: {
    none: ['running'],
    running: [
      'waiting_hitl',
      'waiting_client',
      'waiting_resolution',
      'completed',
      'compensating',
      'denied',
      'failed',
      'terminated',
    ],
    waiting_hitl: [
      'running',
      'waiting_client',
      'waiting_resolution',
      'compensating',
      'denied',
      'failed',
      'terminated',
    ],
    waiting_client: [
      'running',
      'waiting_hitl',
      'waiting_resolution',
      'compensating',
      'denied',
      'failed',
      'terminated',
    ],
    waiting_resolution: [
      'running',
      'waiting_hitl',
      'waiting_client',
      'compensating',
      'denied',
      'failed',
      'terminated',
    ],
    /** The run has stopped and undoes what its tools did. */
    compensating: ['denied', 'failed', 'terminated'],
    completed: [],
    denied: [],
    failed: [],
    terminated: [],
  },
  step: {
    none: ['waiting_hitl', 'permitted', 'denied'],
    waiting_hitl: ['permitted', 'denied', 'failed'],
    permitted: ['answered', 'completed', 'denied', 'failed'],
    answered: ['completed', 'denied', 'failed'],
    completed: [],
    denied: [],
    failed: [],
  },
  call: {
    /** Directly to `failed`: the arguments or the tool were refused. */
    none: ['waiting_hitl', 'intended', 'denied', 'failed'],
    waiting_hitl: ['intended', 'denied', 'failed'],
    intended: ['done', 'failed', 'uncertain'],
    done: [],
    denied: [],
    failed: [],
    /** A person states what happened. */
    uncertain: ['done', 'failed'],
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>

export type RunMachine = keyof typeof TRANSITIONS

const table: Readonly<Record<RunMachine, Readonly<Record<string, readonly string[]>>>> = TRANSITIONS

/** Whether state `to` may follow state `from`. The first state follows `none`. */
export const mayFollow = (machine: RunMachine, from: string, to: string): boolean =>
  (Object.hasOwn(table[machine], from) ? table[machine][from] : undefined)?.includes(to) ?? false

/**
 * Whether a call that ended may have changed something outside. This is unknown for an idempotent
 * call that was interrupted, as for an `uncertain` call with the effect `once`.
 */
export const mayHaveActed = (effect: unknown, state: unknown, reason: unknown): boolean =>
  effect !== 'read' &&
  (state === 'done' ||
    state === 'uncertain' ||
    (state === 'failed' && effect === 'idempotent' && reason === 'not_reported'))

/** The reasons for which compensation may stop before every call was tried. */
export const UNDO_STOPS = ['cancelled', 'deadline_exceeded', 'executor_failed'] as const

/** All states of a machine. */
export const statesOf = (machine: RunMachine): string[] =>
  Object.keys(table[machine]).filter((state) => state !== 'none')

/** Whether a state is final: no other state follows it. */
export const isEnded = (machine: RunMachine, state: string): boolean =>
  table[machine][state]?.length === 0
