// The header `traceparent` of W3C Trace Context: the trace that a request belongs to.

export interface TraceParent {
  /** 32 hex digits. */
  readonly trace_id: string
  /** 16 hex digits: the span of the caller. */
  readonly span_id: string
  readonly flags: number
}

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const ZEROS = /^0+$/

/** Returns null for a missing or invalid header, which is no reason to refuse the request. */
export function parseTraceParent(header: string | string[] | undefined): TraceParent | null {
  if (typeof header !== 'string') return null
  const [, version, trace_id = '', span_id = '', flags = '', more] = FORM.exec(header) ?? []
  // Later versions may append members; version 00 has none.
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined))
    return null
  if (ZEROS.test(trace_id) || ZEROS.test(span_id)) return null
  return { trace_id, span_id, flags: Number.parseInt(flags, 16) }
}
