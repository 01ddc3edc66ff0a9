// Decides where a stream starts, from the position that a client claims and the log itself.

import type { LogEnd } from '../gcrumbs/index.ts'

/** A position in the log: the client has everything up to `seq`. -1 means nothing. */
interface LogMark {
  readonly generation: number
  readonly seq: number
}

const MARK = /^(\d{1,15})\.(-1|\d{1,15})$/

/** Formats the id of a frame. */
export const formatMark = ({ generation, seq }: LogMark): string => `${generation}.${seq}`

/** Returns `null` if the text is not the id of a frame. */
export function parseMark(text: string): LogMark | null {
  const match = MARK.exec(text)
  return match ? { generation: Number(match[1]), seq: Number(match[2]) } : null
}

interface ResumeRequest {
  /** The header `Last-Event-ID`. `null` or empty if the client did not send it. */
  readonly last_event_id: string | null
  /** `head`, `start`, a position, or the id of a frame. */
  readonly from: string
}

/**
 * Decides the start. `findRestored` searches the entries before `end_seq` and returns the first one
 * that begins a generation later than `generation`: the log before that entry is the same in both
 * generations. It is called only if the generation of the client is older than that of the log.
 * `told` is the message that the client gets before the first entry: `position` if it asked for
 * `head` or for a position beyond the end of the log, `reset` if this log lacks the frame that it
 * got last, else null.
 */
export async function decideStart(
  { last_event_id, from }: ResumeRequest,
  end: LogEnd,
  findRestored: (generation: number, end_seq: number) => Promise<number | null>,
): Promise<{ readonly first_seq: number; readonly told: 'position' | 'reset' | null }> {
  const head = { first_seq: end.size, told: 'position' } as const
  const had = last_event_id || (from.includes('.') ? from : null)
  if (had === null) {
    if (from === 'head') return head
    const first_seq = from === 'start' ? 0 : Number(from)
    return first_seq > end.size ? head : { first_seq, told: null }
  }
  const mark = parseMark(had)
  const reset = { first_seq: end.size, told: 'reset' } as const
  if (mark === null || mark.generation > end.generation) return reset
  const next = mark.seq + 1
  if (mark.generation < end.generation) {
    const restored = await findRestored(mark.generation, Math.min(next, end.size))
    if (restored !== null) return { first_seq: restored, told: null }
  }
  return next > end.size ? reset : { first_seq: next, told: null }
}
