// Faults by the capability that they break; each run creates its own.

import { auditOf, type Body, eachMemory, type Fault, withMore } from './faulty.ts'

export interface NamedFault {
  readonly fault: string
  /** What must fail, and nothing else. */
  readonly fails: readonly string[]
  make(): Fault
}

const shown = ['retrieve', 'audit']
const pass: Fault = async () => undefined

/** Shows what was deleted again, where `where` says. */
function resurrecting(where: (operation: string, body: Body) => boolean): Fault {
  const gone = new Map<string, Body[]>()
  return async (sent, forward) => {
    const { operation, body, store_id } = sent
    if (operation === 'delete') {
      const before = await auditOf(sent, forward)
      const memory = before.find(({ ref }) => ref === body.ref)
      const more = memory === undefined ? [] : [memory]
      gone.set(store_id ?? '', [...(gone.get(store_id ?? '') ?? []), ...more])
      return undefined
    }
    if (!where(operation, body)) return undefined
    return withMore(forward, gone.get(store_id ?? '') ?? [])
  }
}

const audit: readonly NamedFault[] = [
  {
    fault: 'shows memories of another store in the audit',
    fails: ['audit'],
    make: () => {
      let stranger: Body[] = []
      return async (sent, forward) => {
        if (sent.operation === 'audit') return withMore(forward, stranger)
        if (sent.operation === 'delete' || sent.operation === 'supersede') return undefined
        if (sent.operation === 'retrieve' && stranger.length === 0) {
          const answer = await forward()
          stranger = [{ ...answer.body.memories[0], ref: 9_000_001 }]
          return answer
        }
        return undefined
      }
    },
  },
  {
    fault: 'lists a memory twice in the audit',
    fails: ['audit'],
    make: () => async (sent, forward) => {
      if (sent.operation !== 'audit') return undefined
      const { status, body } = await forward()
      const memories = body.memories ?? []
      return { status, body: { ...body, memories: [...memories.slice(-1), ...memories] } }
    },
  },
  {
    fault: 'alters what was written in the audit, where its signature is seen not to fit',
    fails: ['audit', 'cryptographic_provenance'],
    make: () => eachMemory(['audit'], (memory) => ({ ...memory, content: `${memory.content}!` })),
  },
  {
    fault: 'leaves a memory out of the audit, which other checks read too',
    fails: ['audit', 'supersession_chain', 'hard_delete'],
    make:
      () =>
      async ({ operation }, forward) => {
        if (operation !== 'audit') return undefined
        const { status, body } = await forward()
        return { status, body: { ...body, memories: body.memories?.toSpliced(1, 1) } }
      },
  },
]

const history: readonly NamedFault[] = [
  {
    fault: 'answers with superseded versions too',
    fails: ['supersession_chain'],
    make: () => async (sent, forward) => {
      if (sent.operation !== 'retrieve' || sent.body.options.as_of !== null) return undefined
      const all = await auditOf(sent, forward)
      return withMore(
        forward,
        all.filter((memory) => memory.superseded_by !== null),
      )
    },
  },
  {
    fault: 'answers with the first version in place of the current one',
    fails: ['supersession_chain'],
    make: () => async (sent, forward) => {
      if (sent.operation !== 'retrieve' || sent.body.options.as_of !== null) return undefined
      const all = await auditOf(sent, forward)
      const first = new Map(all.map((m) => [m.superseded_by, m]))
      const { status, body } = await forward()
      const memories = body.memories.map((m: Body) => first.get(m.ref) ?? m)
      return { status, body: { ...body, memories } }
    },
  },
  {
    fault: 'does not say which version took the place of another',
    fails: ['supersession_chain'],
    make: () => eachMemory(['audit'], (memory) => ({ ...memory, superseded_by: null })),
  },
  {
    fault: 'ignores as_of',
    fails: ['bi_temporal'],
    make:
      () =>
      async ({ operation, body }, forward) => {
        if (operation !== 'retrieve') return undefined
        return forward({ body: { ...body, options: { ...body.options, as_of: null } } })
      },
  },
  {
    fault: 'ends an interval a moment too late',
    fails: ['bi_temporal'],
    make:
      () =>
      async ({ operation, body }, forward) => {
        const as_of: string | null = body?.options?.as_of ?? null
        if (operation !== 'retrieve' || !as_of?.includes('.000000')) return undefined
        const [whole = '', second = '0'] =
          /^(.*:)(\d\d)\.000000\+00:00$/.exec(as_of)?.slice(1) ?? []
        if (second === '00') return undefined
        const earlier = `${whole}${String(Number(second) - 1).padStart(2, '0')}.999999+00:00`
        return forward({ body: { ...body, options: { ...body.options, as_of: earlier } } })
      },
  },
]

const deletion: readonly NamedFault[] = [
  {
    fault: 'answers with what was deleted',
    fails: ['hard_delete'],
    make: () => resurrecting((operation, body) => operation === 'retrieve' && !body.options.as_of),
  },
  {
    fault: 'answers with what was deleted, but only about the past',
    fails: ['hard_delete'],
    make: () => resurrecting((operation, body) => operation === 'retrieve' && body.options.as_of),
  },
  {
    fault: 'keeps what was deleted in the audit',
    fails: ['hard_delete'],
    make: () => resurrecting((operation) => operation === 'audit'),
  },
  {
    fault: 'deletes the neighbours as well',
    fails: ['hard_delete'],
    make:
      () =>
      async ({ operation, body }, forward) => {
        if (operation !== 'delete') return undefined
        await forward({ body: { ref: body.ref + 1 } })
        await forward({ body: { ref: body.ref + 2 } })
        return undefined
      },
  },
  {
    fault: 'says again that it deleted what is gone',
    fails: ['hard_delete'],
    make: () => {
      const gone = new Set<number>()
      return async ({ operation, body }, forward) => {
        if (operation !== 'delete') return undefined
        const answer = await forward()
        if (answer.body.deleted) gone.add(body.ref)
        return gone.has(body.ref) ? { ...answer, body: { ...answer.body, deleted: true } } : answer
      }
    },
  },
  {
    fault: 'leaves a chain without a current version when the current one is deleted',
    fails: ['hard_delete'],
    make: () => {
      const closed = new Set<number>()
      return async (sent, forward) => {
        if (sent.operation === 'delete')
          for (const { ref, superseded_by } of await auditOf(sent, forward))
            if (superseded_by === sent.body.ref) closed.add(ref)
        if (sent.operation !== 'retrieve') return undefined
        const { status, body } = await forward()
        const memories = body.memories?.filter(({ ref }: Body) => !closed.has(ref))
        return { status, body: { ...body, memories } }
      }
    },
  },
  {
    fault: 'fails when a current version is deleted',
    fails: ['hard_delete'],
    make: () => async (sent, forward) => {
      if (sent.operation !== 'delete') return undefined
      const all = await auditOf(sent, forward)
      const points = all.some(({ superseded_by }) => superseded_by === sent.body.ref)
      return points ? { status: 500, body: { error: 'internal' } } : undefined
    },
  },
]

const tenants = (keys: { own: string; other: string }): readonly NamedFault[] => [
  {
    fault: 'puts all namespaces together',
    fails: ['multi_tenant'],
    make:
      () =>
      async ({ operation, body }, forward) => {
        if (!['write', 'retrieve'].includes(operation)) return undefined
        return forward({ body: { ...body, options: { ...body.options, tenant_id: null } } })
      },
  },
  {
    fault: 'withholds from a namespace what is its own',
    fails: ['multi_tenant'],
    make:
      () =>
      async ({ operation, body }) => {
        const scoped = operation === 'retrieve' && body.options.tenant_id !== null
        return scoped ? { status: 200, body: { memories: [] } } : undefined
      },
  },
  {
    fault: "answers another tenant's credential",
    fails: ['multi_tenant'],
    make:
      () =>
      async ({ operation, key }, forward) =>
        key === keys.other && operation === 'retrieve' ? forward({ key: keys.own }) : undefined,
  },
  {
    fault: 'deletes by ref whoever asks, in whichever store',
    fails: ['multi_tenant'],
    make: () => {
      let written = ''
      return async ({ operation, key, path }, forward) => {
        if (operation === 'write' && key === keys.own) written = path.replace('write', 'delete')
        const foreign = operation === 'delete' && key === keys.other
        return foreign ? forward({ key: keys.own, path: written }) : undefined
      }
    },
  },
  {
    fault: 'lists every store to everybody',
    fails: ['multi_tenant'],
    make:
      () =>
      async ({ operation, method, store_id }, forward) =>
        method === 'GET' && store_id === null && operation === ''
          ? forward({ key: keys.own })
          : undefined,
  },
]

const origin: readonly NamedFault[] = [
  {
    fault: 'does not name the write',
    fails: ['provenance'],
    make: () => eachMemory(shown, (m) => ({ ...m, source: { ...m.source, write_id: undefined } })),
  },
  {
    fault: 'names another write each time',
    fails: ['provenance'],
    make: () => {
      let n = 0
      return eachMemory(shown, (m) => ({ ...m, source: { ...m.source, write_id: `w-${n++}` } }))
    },
  },
  {
    fault: 'has no source, and so no signature',
    fails: ['provenance', 'cryptographic_provenance'],
    make: () => eachMemory(shown, (m) => ({ ...m, source: null })),
  },
  {
    fault: 'forges the signature',
    fails: ['cryptographic_provenance'],
    make: () =>
      eachMemory(shown, (m) => {
        const signature = Buffer.from(m.source.signature, 'base64')
        signature[0] = (signature[0] ?? 0) ^ 1
        return { ...m, source: { ...m.source, signature: signature.toString('base64') } }
      }),
  },
  {
    fault: 'names another writer than the key that signed',
    fails: ['cryptographic_provenance'],
    make: () =>
      eachMemory(shown, (m) => ({ ...m, source: { ...m.source, written_by: '00'.repeat(32) } })),
  },
]

/** Faults of what a service as ours declares. */
export const faultsOfSeven = (keys: { own: string; other: string }): readonly NamedFault[] => [
  ...audit,
  ...history,
  ...deletion,
  ...tenants(keys),
  ...origin,
]

/** Faults of what only a service that is said to offer all ten declares; the first is none. */
export const faultsOfTen: readonly NamedFault[] = [
  { fault: 'does nothing wrong', fails: [], make: () => pass },
  {
    fault: 'answers a question from a cache that no write empties',
    fails: ['cross_session_propagation'],
    make: () => {
      const cache = new Map<string, Awaited<ReturnType<Fault>>>()
      return async ({ operation, path, body }, forward) => {
        if (operation !== 'retrieve') return undefined
        const key = `${path}\n${JSON.stringify(body)}`
        const answer = cache.get(key) ?? (await forward())
        cache.set(key, answer)
        return answer
      }
    },
  },
  {
    fault: 'drops the earlier of two values in silence',
    fails: ['conflict_detection'],
    make: () => {
      const slots = new Map<string, number>()
      return async ({ operation, store_id, body }, forward) => {
        const { subject, predicate } = body?.options?.metadata ?? {}
        if (operation !== 'write' || subject === undefined) return undefined
        const answer = await forward()
        const slot = [store_id, body.options.tenant_id, subject, predicate].join('\n')
        const before = slots.get(slot)
        const path = `/v1/stores/${store_id}/delete`
        if (before !== undefined) await forward({ path, body: { ref: before } })
        slots.set(slot, answer.body.ref)
        return answer
      }
    },
  },
  {
    fault: 'brings back what was deleted when it is superseded at the same time',
    fails: ['concurrency_control'],
    make: () => {
      const superseded = new Set<number>()
      const gone = new Map<number, Body>()
      return async (sent, forward) => {
        const { operation, body, store_id } = sent
        if (operation === 'supersede') superseded.add(body.old_ref)
        if (operation === 'delete') {
          const memory = (await auditOf(sent, forward)).find(({ ref }) => ref === body.ref)
          if (memory) gone.set(body.ref, { ...memory, store_id })
        }
        if (operation !== 'audit') return undefined
        const back = [...gone].filter(([ref, m]) => superseded.has(ref) && m.store_id === store_id)
        return withMore(
          forward,
          back.map(([, memory]) => memory),
        )
      }
    },
  },
  {
    fault: 'keeps a write that it refused',
    fails: ['concurrency_control'],
    make:
      () =>
      async ({ operation, store_id, body }, forward) => {
        if (operation !== 'supersede') return undefined
        const answer = await forward()
        const path = `/v1/stores/${store_id}/write`
        if (answer.status === 409) await forward({ path, body: { content: body.content } })
        return answer
      },
  },
]
