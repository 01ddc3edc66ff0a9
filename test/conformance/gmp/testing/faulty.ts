// A proxy before a real service that breaks one promise, and keeps all others as it finds them.

/** A request on its way, its JSON body parsed. */
export interface Sent {
  readonly method: string
  /** Of the URL, with the query. */
  readonly path: string
  readonly store_id: string | null
  /** The last part of the path: `write`, `audit`, … */
  readonly operation: string
  readonly body: Body
  readonly key: string | null
}

// biome-ignore lint/suspicious/noExplicitAny: a fault changes bodies of every shape
export type Body = any

export interface Passed {
  readonly status: number
  readonly body: Body
}

/** Forwards a request as it is, or changed. */
export type Forward = (
  change?: Partial<Pick<Sent, 'path' | 'method' | 'body' | 'key'>>,
) => Promise<Passed>

/** Answers in place of the service; undefined lets the answer through. */
export type Fault = (sent: Sent, forward: Forward) => Promise<Passed | undefined>

/** `fetch` through the proxy; what is asked of the service itself is asked over HTTP. */
export function faultyFetch(fault: Fault): typeof fetch {
  return async (input, init) => {
    const url = new URL(String(input))
    const sent = sentOf(url, init)
    const forward: Forward = async (change = {}) => {
      const { path, method, body, key } = { ...sent, ...change }
      const headers = new Headers(init?.headers)
      if (key !== null) headers.set('authorization', `Bearer ${key}`)
      if (body !== undefined) headers.set('content-type', 'application/json')
      const response = await fetch(`${url.origin}${path}`, {
        method,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
    }
    const { status, body } = (await fault(sent, forward)) ?? (await forward())
    return new Response(JSON.stringify(body), { status, headers: { 'retry-after': '0' } })
  }
}

function sentOf(url: URL, init: RequestInit | undefined): Sent {
  const [, , , store_id = null, operation = ''] = url.pathname.split('/')
  const key = new Headers(init?.headers).get('authorization')
  return {
    method: init?.method ?? 'GET',
    path: url.pathname + url.search,
    store_id,
    operation,
    body: init?.body === undefined ? undefined : JSON.parse(String(init.body)),
    key: key === null ? null : key.replace('Bearer ', ''),
  }
}

/** Passes an answer on with each of its memories changed. */
export const eachMemory =
  (operations: readonly string[], change: (memory: Body) => Body): Fault =>
  async ({ operation }, forward) => {
    if (!operations.includes(operation)) return undefined
    const { status, body } = await forward()
    if (!Array.isArray(body?.memories)) return { status, body }
    return { status, body: { ...body, memories: body.memories.map(change) } }
  }

/** Passes an answer on with further memories at its end. */
export async function withMore(
  forward: Forward,
  more: readonly Body[],
  change?: Parameters<Forward>[0],
): Promise<Passed> {
  const { status, body } = await forward(change)
  if (!Array.isArray(body?.memories)) return { status, body }
  return { status, body: { ...body, memories: [...body.memories, ...more] } }
}

/** What the store holds now. */
export async function auditOf({ store_id }: Sent, forward: Forward): Promise<Body[]> {
  const change = { method: 'GET', path: `/v1/stores/${store_id}/audit`, body: undefined }
  // Whose credential is not for the store sees nothing of it.
  return (await forward(change)).body.memories ?? []
}

/** The same service, said to offer all ten capabilities. */
export const declaringAll =
  (declared: readonly string[], fault: Fault): Fault =>
  async (sent, forward) => {
    if (sent.operation !== 'capabilities') return fault(sent, forward)
    const { status, body } = await forward()
    return status === 200 ? { status, body: { capabilities: declared } } : { status, body }
  }
