// The states of runs, their steps and calls: one table for the server and the offline verifier.

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
    /** It has stopped, and undoes what its tools did. */
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
    /** `failed`: its arguments or its tool were refused. */
    none: ['waiting_hitl', 'intended', 'denied', 'failed'],
    waiting_hitl: ['intended', 'denied', 'failed'],
    intended: ['done', 'failed', 'uncertain'],
    done: [],
    denied: [],
    failed: [],
    /** A person says what happened. */
    uncertain: ['done', 'failed'],
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>

export type RunMachine = keyof typeof TRANSITIONS

const table: Readonly<Record<RunMachine, Readonly<Record<string, readonly string[]>>>> = TRANSITIONS

/** Whether one may follow the other; `none`: before the first. */
export const mayFollow = (machine: RunMachine, from: string, to: string): boolean =>
  (Object.hasOwn(table[machine], from) ? table[machine][from] : undefined)?.includes(to) ?? false

/**
 * Whether a call that ended may have changed something outside: of an idempotent one that was cut
 * off nobody knows, as of a `once` call that is uncertain.
 */
export const mayHaveActed = (effect: unknown, state: unknown, reason: unknown): boolean =>
  effect !== 'read' &&
  (state === 'done' ||
    state === 'uncertain' ||
    (state === 'failed' && effect === 'idempotent' && reason === 'not_reported'))

/** Who or what may end the undoing before all was tried. */
export const UNDO_STOPS = ['cancelled', 'deadline_exceeded', 'executor_failed'] as const

/** Every state of a machine. */
export const statesOf = (machine: RunMachine): string[] =>
  Object.keys(table[machine]).filter((state) => state !== 'none')

/** Whether nothing follows a state. */
export const isEnded = (machine: RunMachine, state: string): boolean =>
  table[machine][state]?.length === 0
