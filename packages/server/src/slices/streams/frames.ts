// Frames of server-sent events (WHATWG HTML, section 9.2), rendered once for all streams.

import { type EventType, eventPayloads, type StepDelta } from '@custos/contract'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { type LogEnd, type LogPage, readLogPage } from '../gcrumbs/index.ts'
import { formatMark } from './start-position.ts'

/** `message` omits the event's name, so that browsers pass all frames to one listener. */
export type FrameFormat = 'named' | 'message'

const PAGE_ENTRIES = 100

export const isEvent = (name: string): name is EventType => Object.hasOwn(eventPayloads, name)

/** The events that end a run. */
export const RUN_ENDS = ['run.completed', 'run.denied', 'run.failed', 'run.terminated'] as const

export interface RenderedPage extends Pick<LogPage, 'next_seq' | 'end'> {
  /** The frames of the page. Empty if no entry of it was requested. */
  render(format: FrameFormat): string
  /** The frames of one run, and whether they include the entry that ends it. */
  renderRun(
    run_id: string,
    format: FrameFormat,
  ): { readonly frames: string; readonly over: boolean }
}

/** Page reads shared by the streams that wait for the same entries. */
class RenderedPages {
  readonly #kernel: Kernel
  readonly #reading = new Map<string, Promise<RenderedPage>>()

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  read(
    tenant_id: string,
    first_seq: number,
    events: readonly EventType[] | null,
  ): Promise<RenderedPage> {
    const key = JSON.stringify([tenant_id, first_seq, events])
    const known = this.#reading.get(key)
    if (known) return known
    const reading = this.#kernel.db
      .read(tenant_id, (db) => readLogPage(db, { first_seq, limit: PAGE_ENTRIES, events }))
      .then(renderable)
      .finally(() => this.#reading.delete(key))
    this.#reading.set(key, reading)
    return reading
  }
}

export const renderedPages = perKernel((kernel) => new RenderedPages(kernel))

function renderable({ entries, next_seq, end }: LogPage): RenderedPage {
  const rendered = new Map<FrameFormat, string>()
  const frameOfEntry = (
    { seq, event_type, breadcrumb_id, record }: LogPage['entries'][number],
    format: FrameFormat,
  ) => {
    const id = Buffer.from(breadcrumb_id).toString('hex')
    // The record is canonical JSON of an object with members, so it is one line.
    const data = `{"type":"${event_type}","breadcrumb_id":"${id}",${record.slice(1)}`
    return frameOf({ generation: end.generation, seq, event: event_type, data }, format)
  }
  const render = (format: FrameFormat) => {
    const known = rendered.get(format)
    if (known !== undefined) return known
    const text = entries.map((entry) => frameOfEntry(entry, format)).join('')
    rendered.set(format, text)
    return text
  }
  const renderRun = (run_id: string, format: FrameFormat) => {
    const own = entriesOfRun(entries, run_id)
    const frames = own.map((entry) => frameOfEntry(entry, format)).join('')
    return { frames, over: own.some(endsRun) }
  }
  return { next_seq, end, render, renderRun }
}

/** Selects entries of a run. They contain its id as subject or in the payload; others do not. */
export const entriesOfRun = <E extends { readonly record: string }>(
  entries: readonly E[],
  run_id: string,
): E[] => entries.filter(({ record }) => record.includes(`"${run_id}"`))

const endsRun = ({ event_type }: { readonly event_type: string }): boolean =>
  RUN_ENDS.some((event) => event === event_type)

/** Tells a client its position, from which its next connection continues. */
export function renderMark(
  event: 'position' | 'reset',
  { generation, size }: LogEnd,
  format: FrameFormat,
): string {
  const data = JSON.stringify({ type: event, generation, size })
  return frameOf({ generation, seq: size - 1, event, data }, format)
}

/** Has no id, because a client that reconnects does not get it again. */
export function renderDelta(delta: StepDelta, format: FrameFormat): string {
  const name = format === 'named' ? `event: ${delta.type}\n` : ''
  return `${name}data: ${JSON.stringify(delta)}\n\n`
}

/** @param frame.data one line */
function frameOf(
  frame: { generation: number; seq: number; event: string; data: string },
  format: FrameFormat,
): string {
  const { event, data, ...mark } = frame
  const name = format === 'named' ? `event: ${event}\n` : ''
  return `id: ${formatMark(mark)}\n${name}data: ${data}\n\n`
}
