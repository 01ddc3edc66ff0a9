// Frames of server-sent events (WHATWG HTML, 9.2), rendered once for all streams that show them.

import { type EventType, eventPayloads, type StepDelta } from '@custos/contract'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { type LogEnd, type LogPage, readLogPage } from '../gcrumbs/index.ts'
import { formatMark } from './start-position.ts'

/** `message`: without the name of the event, so that browsers give all to one listener. */
export type FrameFormat = 'named' | 'message'

const PAGE_ENTRIES = 100

export const isEvent = (name: string): name is EventType => Object.hasOwn(eventPayloads, name)

/** The entry that ends a run. */
export const RUN_ENDS = ['run.completed', 'run.denied', 'run.failed', 'run.terminated'] as const

export interface RenderedPage extends Pick<LogPage, 'next_seq' | 'end'> {
  /** The frames of the page; empty where no entry of it was asked for. */
  render(format: FrameFormat): string
  /** Those about one run, and whether the entry that ends it is among them. */
  renderRun(
    run_id: string,
    format: FrameFormat,
  ): { readonly frames: string; readonly over: boolean }
}

/** Streams that wait for the same entries read them together. */
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
    // A record is canonical JSON: one line, and an object with members.
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

/** An entry about a run names it, as its subject or in its payload; no other holds its id. */
export const entriesOfRun = <E extends { readonly record: string }>(
  entries: readonly E[],
  run_id: string,
): E[] => entries.filter(({ record }) => record.includes(`"${run_id}"`))

const endsRun = ({ event_type }: { readonly event_type: string }): boolean =>
  RUN_ENDS.some((event) => event === event_type)

/** Tells a client where it is: its next connection continues from there. */
export function renderMark(
  event: 'position' | 'reset',
  { generation, size }: LogEnd,
  format: FrameFormat,
): string {
  const data = JSON.stringify({ type: event, generation, size })
  return frameOf({ generation, seq: size - 1, event, data }, format)
}

/** Without an id: a client that reconnects does not get it again. */
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
