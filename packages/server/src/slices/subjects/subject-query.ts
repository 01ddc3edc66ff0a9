// Parses a request's query: what to find, in which stores, when it was received and is due. Also
// describes what was searched.

import type { SubjectFind } from '@custos/contract'
import { parseTime } from '../../platform/clock.ts'
import type { Call } from '../../platform/kernel/call.ts'
import { parseNamespace } from '../../platform/namespace.ts'
import { Refusal } from '../../platform/refusal.ts'
import { findStore } from '../memory/index.ts'
import { dueAfter } from './due-date.ts'
import { buildMatcher, canonicalFind, explainEmptyFind } from './matcher.ts'
import type { SearchOptions } from './search.ts'

interface SubjectQueryBody {
  readonly find?: SubjectFind
  readonly store_ids?: readonly string[]
  readonly namespace?: string | null
  readonly include_decisions?: boolean
  readonly include_records?: boolean
  readonly received_at?: string
  readonly due_at?: string
}

export interface SubjectQuery {
  readonly search: SearchOptions
  /** Hex HMAC of what is searched for. */
  readonly find_label: string
  readonly received_us: number
  readonly due_us: number
}

const DEFAULT_STORE = 'default'
/** Longer than any law allows. */
const DUE_DAYS_MAX = 366
const DAY_US = 86_400_000_000

/** Refuses `rejected` and `store_not_found`. */
export async function parseSubjectQuery(
  call: Pick<Call, 'kernel' | 'tenant_id' | 'principal' | 'read'>,
  body: SubjectQueryBody,
): Promise<SubjectQuery> {
  const { find } = body
  // Null and undefined both mean every namespace here.
  const given = body.namespace ?? null
  if (find === undefined && given === null)
    throw new Refusal('rejected', 'find may be left out where namespace is given, and only there')
  const fault = explainEmptyFind(find)
  if (fault !== null) throw new Refusal('rejected', fault)
  const { kernel, tenant_id } = call
  const times = parseTimes(kernel.clock.now(), body)
  const store_ids = await resolveStores(call, body.store_ids)
  const namespace = given === null ? undefined : parseNamespace(tenant_id, { namespace: given })
  const keys = await kernel.keyring.tenant(tenant_id)
  return {
    search: {
      matcher: buildMatcher(find),
      store_ids,
      namespace,
      include_decisions: body.include_decisions ?? true,
      include_records: body.include_records ?? true,
      since_seq: -1,
    },
    find_label: keys.label(canonicalFind(find, namespace ?? null)),
    ...times,
  }
}

/** Returns null for all stores. Refuses a store out of the key's reach like an unknown one. */
async function resolveStores(
  call: Pick<Call, 'kernel' | 'tenant_id' | 'principal' | 'read'>,
  given: readonly string[] | undefined,
): Promise<readonly string[] | null> {
  const { allowed_stores } = call.principal
  const allowed = allowed_stores.length === 0 ? null : allowed_stores
  if (given === undefined) return allowed
  const wanted = [...new Set(given)]
  const known = await call.read(async (db) => {
    for (const store_id of wanted) {
      if (allowed !== null && !allowed.includes(store_id)) return false
      if (store_id !== DEFAULT_STORE && !(await findStore(db, store_id))) return false
    }
    return true
  })
  if (!known) throw new Refusal('store_not_found')
  return wanted
}

function parseTimes(now_us: number, { received_at, due_at }: SubjectQueryBody) {
  // The schema has checked the timestamp.
  const received_us = received_at === undefined ? now_us : (parseTime(received_at) ?? now_us)
  if (received_us > now_us) throw new Refusal('rejected', 'received_at is in the future')
  const given = due_at === undefined ? null : parseTime(due_at)
  const due_us = given ?? dueAfter(received_us)
  if (due_us <= received_us) throw new Refusal('rejected', 'due_at is not after received_at')
  if (due_us - received_us > DUE_DAYS_MAX * DAY_US)
    throw new Refusal('rejected', `due_at is more than ${DUE_DAYS_MAX} days after received_at`)
  return { received_us, due_us }
}

const MEMORIES = 'contents and metadata of memories, with all versions of those that match'
const DECISIONS = 'query, output, session, parameters and own contents of decisions'
const RECORDS = [
  'records of registries: artifacts, corpora, types, actions, compositions, landing certificates',
  'approval requests, and names of approvers',
  'governed decisions and names of agents; reviews and outcomes keep digests and no text',
  'names, descriptions and configurations of policies',
  'reasons and matters of legal holds, and what retention is based on',
  'names and labels of stores, and titles of reports',
  'names of keys, and names and e-mail addresses of people',
  'texts of runs; agents, workflows, tools and providers of models; webhooks; single sign-on',
  'ids of stores and models, and legal_basis and requested_by of certificates, which are kept',
]
const KEY_NAMESPACES = 'namespaces that keys and tokens are limited to'
const OTHER_STORES = 'stores beside those named, or that the key is limited to'
const OTHER_NAMESPACES = 'memories of other namespaces than the one named'
const OTHERS = [
  'names of tenants, which their operator gives',
  'texts of memories that only paraphrase or misspell what was searched for',
  'copies outside this service: exports, answers given, backups and logs of callers',
]

type SearchScope = Pick<
  SearchOptions,
  'matcher' | 'include_decisions' | 'include_records' | 'store_ids'
> & { readonly namespace?: string | null | undefined }

/** Describes in text what was searched and what was not. */
export const describeScope = (
  scope: SearchScope,
): { searched: string[]; not_searched: string[] } => ({
  searched: [
    MEMORIES,
    ...(explainNoDecisions(scope) === null ? [DECISIONS] : []),
    ...(explainNoRecords(scope) === null ? RECORDS : []),
    ...(scope.include_records && scope.matcher.ofTexts ? [KEY_NAMESPACES] : []),
  ],
  not_searched: listNotSearched(scope),
})

const SCOPE_GONE =
  'stores, namespaces or decisions that the request may have left out: its words are destroyed'

/** What was not searched; `scope` is null if the request's scope can no longer be read. */
export function listNotSearched(scope: SearchScope | null): string[] {
  if (scope === null) return [SCOPE_GONE, ...OTHERS]
  const noDecisions = explainNoDecisions(scope)
  const noRecords = explainNoRecords(scope)
  return [
    ...(scope.store_ids === null ? [] : [OTHER_STORES]),
    ...(scope.namespace === undefined ? [] : [OTHER_NAMESPACES]),
    ...(noDecisions === null ? [] : [`the text of decisions: ${noDecisions}`]),
    ...(noRecords === null ? [] : [`registry records and other records: ${noRecords}`]),
    ...OTHERS,
  ]
}

/** Why decisions are not searched; `null` if they are. */
function explainNoDecisions(scope: SearchScope): string | null {
  if (!scope.include_decisions) return 'they were left out by the request'
  return explainNoTexts(scope)
}

/** Why other records are not searched; `null` if they are. */
function explainNoRecords(scope: SearchScope): string | null {
  if (!scope.include_records) return 'they were left out by the request'
  return explainNoTexts(scope)
}

function explainNoTexts({ matcher, namespace }: SearchScope): string | null {
  if (namespace !== undefined) return 'they are of no namespace'
  return matcher.ofTexts ? null : 'no entry of find is a word of two letters or more'
}
