// Pure: when a memory is due, by the age it has and how long its store keeps it.

const DAY_US = 86_400_000_000

/** What was written at or before it is due. Days have 24 hours each. */
export const cutoffOf = (retain_days: number, now_us: number): number =>
  now_us - retain_days * DAY_US

export interface RunSettings {
  readonly run_days: number | null
  readonly retain_days: number | null
}

/** Whether a run may go on: its store keeps memories for no longer than when it began. */
export const stillDue = ({ run_days, retain_days }: RunSettings): boolean =>
  run_days !== null && retain_days !== null && retain_days <= run_days
