// The world model: its operations, their handlers, validation, and what other slices use.

import {
  type Cardinality,
  type worldModel as contract,
  limits,
  type worldModel,
  worldModelLimits,
} from '@custos/contract'
import { canonicalize, isObject, type JsonObject, schemaDigest, type Verdict } from '@custos/proof'
import type { Call, Handler, HandlersOf } from '../../platform/kernel/call.ts'
import { pageOf } from '../../platform/page.ts'
import { validationDetail } from '../../platform/validation.ts'
import {
  answerProposal,
  checksOf,
  countByStatus,
  findEarlierAnswer,
  loadRecord,
  type OpenRecord,
  proposeRecord,
  recordRefusal,
  registryHandlers,
  type TenantRecords,
  unsignedReason,
  verifyDocument,
} from '../records/index.ts'
import {
  actionRegistry,
  actionView,
  assertFits,
  normalizeAction,
  showAction,
  tierProblem,
  trustRefusal,
} from './action-request.ts'
import { findProblems, showProblem } from './check-run.ts'
import {
  findType,
  findVersion,
  listTitles,
  type OpenType,
  openType,
  openTypesInBatches,
  showListedType,
  showType,
  specOf,
  typeRegistry,
} from './type-registry.ts'
import { readSpec, specRefusal, typeKindOf } from './type-spec.ts'

const validateObject: Handler<typeof contract.validate_object> = async (call, { body }) => {
  const { kernel, tenant_id } = call
  const { type_name: name, instance, version } = body
  const newest = await findType(kernel, tenant_id, { kind: 'object', name })
  if (!newest) return call.refuse('type_not_found')
  const { series_id: type_id } = newest.record.row
  const wanted = { type_id, version: version ?? undefined }
  const type = version ? await findVersion(kernel, tenant_id, wanted) : newest
  if (!type) return call.refuse('type_not_found')

  const loc = ['body', 'instance']
  const { instance_bytes } = worldModelLimits
  if (!isObject(instance)) throw specRefusal(loc, 'must be an object')
  if (Buffer.byteLength(JSON.stringify(instance)) > instance_bytes)
    throw specRefusal(loc, `an object must not exceed ${instance_bytes} bytes`)
  const problems = findProblems(specOf(kernel, 'object', type).test, instance)
  return { ...answer(type, problems.map(showProblem)) }
}

const validateLink: Handler<typeof contract.validate_link> = async (call, { body }) => {
  const { kernel, tenant_id } = call
  const { link_name: name, from_type, to_type, existing } = body
  const type = await findType(kernel, tenant_id, { kind: 'link', name })
  if (!type) return call.refuse('type_not_found')

  const { cardinality, ...ends } = specOf(kernel, 'link', type)
  const errors: string[] = []
  if (from_type !== ends.from_type) errors.push(`from_type must be ${ends.from_type}`)
  if (to_type !== ends.to_type) errors.push(`to_type must be ${ends.to_type}`)

  const link = namedLink(body)
  if (link) errors.push(...cardinalityErrors(cardinality, link, existing ?? []))
  return { ...answer(type, errors), cardinality, not_checked: unchecked(link, existing) }
}

type LinkBody = {
  readonly from_id?: string | null
  readonly to_id?: string | null
  readonly existing?: readonly NamedLink[] | null
}

/** Requires both ends of a link or neither. */
function namedLink({ from_id, to_id, existing }: LinkBody): NamedLink | null {
  if (typeof from_id === 'string' && typeof to_id === 'string') return { from_id, to_id }
  const none = typeof from_id !== 'string' && typeof to_id !== 'string'
  if (none && !existing) return null
  const missing = typeof from_id === 'string' ? 'to_id' : 'from_id'
  throw validationDetail(['body', missing], 'Field required', 'missing')
}

const unchecked = (link: NamedLink | null, existing: LinkBody['existing']): string[] => {
  if (link === null) return ['cardinality: name the objects (from_id, to_id) and existing links']
  return existing ? ['links that were not named'] : ['cardinality: name the existing links']
}

const answer = ({ record }: OpenType, errors: string[]) => ({
  valid: errors.length === 0,
  errors,
  type_id: record.row.series_id,
  version: record.row.version,
})

interface NamedLink {
  readonly from_id: string
  readonly to_id: string
}

/**
 * Describes how the new link would break the cardinality: a side that allows only one partner
 * already has another. Duplicate links count once.
 */
function cardinalityErrors(
  cardinality: Cardinality,
  link: NamedLink,
  existing: readonly NamedLink[],
): string[] {
  const all = [...existing, link]
  const errors: string[] = []
  // many_to_one: each on the `from` side has one partner; one_to_many: each on the `to` side.
  if (cardinality === 'one_to_one' || cardinality === 'many_to_one')
    if (hasTwoPartners(all.map(({ from_id, to_id }) => [from_id, to_id])))
      errors.push(`${cardinality}: an object on the from side is linked to more than one`)
  if (cardinality === 'one_to_one' || cardinality === 'one_to_many')
    if (hasTwoPartners(all.map(({ from_id, to_id }) => [to_id, from_id])))
      errors.push(`${cardinality}: an object on the to side is linked from more than one`)
  return errors
}

function hasTwoPartners(pairs: readonly (readonly [one: string, partner: string])[]): boolean {
  const partners = new Map<string, string>()
  return pairs.some(([one, partner]) => {
    const known = partners.get(one)
    partners.set(one, partner)
    return known !== undefined && known !== partner
  })
}

/** POST /v1/world-model/types: the first version of a type, or the next one. */
const registerType: Handler<typeof contract.register_type> = async (call, { body }) => {
  const { kind, name, spec } = body
  if (!isObject(spec)) throw specRefusal(['body', 'spec'], 'must be an object')
  readSpec({ kind, name }, spec)

  const record = await proposeRecord(call, typeRegistry(), { kind, name, spec })
  return showType(openType(record), call.tenant_id)
}

const listTypes: Handler<typeof contract.list_types> = async (call, { query }) => {
  const { kernel, tenant_id } = call
  const page = pageOf(query, limits.records_page.default, call.operation.id)
  const titles = await listTitles(kernel, tenant_id)
  const ids = titles
    .filter(({ kind }) => query.kind === undefined || kind === query.kind)
    .slice(page.offset, page.offset + page.limit)
    .map(({ record_id }) => record_id)
  const show = (type: OpenType) => showListedType(type, tenant_id)
  return page.envelope('types', await openTypesInBatches(kernel, tenant_id, ids, show))
}

const loadType = async (
  call: Call,
  version: { type_id: string; version?: number | undefined },
): Promise<OpenType> =>
  (await findVersion(call.kernel, call.tenant_id, version)) ?? call.refuse('type_not_found')

const getType: Handler<typeof contract.get_type> = async (call, { params, query }) =>
  showType(await loadType(call, { ...params, ...query }), call.tenant_id)

const verifyType: Handler<typeof contract.verify_type> = async (call, { params, query }) => {
  const type = await loadType(call, { ...params, ...query })
  const verdict = await verifyDocument(call.kernel, typeRegistry(), type.record)
  return {
    passed: verdict?.valid ?? false,
    checks: checksOf(verdict),
    not_checked: [...(verdict?.not_checked ?? [])],
    reason: verdict?.reason ?? null,
    kind: typeKindOf(type.request),
    name: type.request.name,
    version: type.record.row.version,
  }
}

/** POST /v1/world-model/actions/invoke: type, trust, parameters, policies, a signed record. */
const invoke: Handler<typeof contract.invoke> = async (call, { body }) => {
  const { kernel, tenant_id, principal } = call
  // A retry gets the first answer, even if the types have changed.
  const before = await findEarlierAnswer(call, actionRegistry)
  if (before) return answerProposal(call, before, actionView)
  const named = { kind: 'action', name: body.action_name } as const
  const type = await findType(kernel, tenant_id, named)
  if (!type) return call.refuse('type_not_found')
  const request = normalizeAction(kernel, body, type)

  const reason = tierProblem(request, principal.max_trust_tier ?? null)
  if (reason !== null) {
    const { row } = await recordRefusal(call, actionRegistry, request, {
      code: 'trust_tier',
      reason,
    })
    throw trustRefusal(reason, row.record_id)
  }

  await assertFits(call, request, type)

  const record = await proposeRecord(call, actionRegistry, request)
  return answerProposal(call, record, actionView)
}

const actionStats: Handler<typeof contract.action_stats> = async (call) => {
  const types: Record<string, number> = {}
  for (const { kind } of await listTitles(call.kernel, call.tenant_id))
    types[kind] = (types[kind] ?? 0) + 1
  return { types, actions: await call.read((db) => countByStatus(db, 'action')) }
}

/** GET /v1/world-model/actions/{action_id}/verify */
const verifyAction: Handler<typeof contract.verify_action> = async (call, { params }) => {
  const record = await loadRecord(call, actionRegistry, params.action_id)
  const verdict = await verifyDocumentAndType(call, record)
  const { action_name, subject_refs, authority, gate, status } = showAction(record, call.tenant_id)
  const { human_principal, delegation_ref, trust_tier } = authority
  return {
    passed: verdict?.valid ?? false,
    checks: checksOf(verdict),
    not_checked: [...(verdict?.not_checked ?? [])],
    reason: verdict ? (verdict.reason ?? null) : unsignedReason(record, 'nothing was signed'),
    attribution: {
      who: human_principal,
      did: action_name,
      to: subject_refs,
      under: { delegation_ref, trust_tier },
      gate,
    },
    status,
  }
}

/** Verifies the signed document and the version of the type that it names. */
async function verifyDocumentAndType(call: Call, record: OpenRecord): Promise<Verdict | null> {
  const { document } = record
  const verdict = await verifyDocument(call.kernel, actionRegistry, record)
  if (verdict === null || document === null) return null
  const ok = await matchesTypeVersion(call, document)
  const checks = [...verdict.checks, { name: 'type_version', ok }]
  if (ok || !verdict.valid) return { ...verdict, checks, valid: verdict.valid && ok }
  const reason = 'type_version: the version that it names is not there as it says'
  return { ...verdict, checks, valid: false, reason }
}

/** Whether the type version that a signed action names exists with these properties. */
async function matchesTypeVersion(
  { kernel, tenant_id }: TenantRecords,
  document: JsonObject,
): Promise<boolean> {
  const named = document['type']
  if (!isObject(named)) return false
  const { type_id, version } = named
  if (typeof type_id !== 'string' || typeof version !== 'number') return false
  const found = await findVersion(kernel, tenant_id, { type_id, version })
  return found !== null && isNamedVersion(named, found, document['action_name'])
}

/** Compares with the spec as registered, not with how this version of the service reads it. */
function isNamedVersion(
  named: JsonObject,
  { record, request }: OpenType,
  action_name: unknown,
): boolean {
  const { series_id: type_id, version, record_id } = record.row
  const { required_trust_tier = null, subject_type = null } = request.spec
  const registered = {
    type_id,
    version,
    record_id,
    required_trust_tier,
    subject_type,
    schema_digest: schemaDigest(request.spec),
  }
  const sameName = request.kind === 'action' && request.name === action_name
  return sameName && canonicalize(registered) === canonicalize(named)
}

export { actionRegistry } from './action-request.ts'
export { findProblems, showProblem } from './check-run.ts'
export { readJsonSchema, SpecRefused } from './json-schema.ts'
export { findType, typeRegistry } from './type-registry.ts'

const actions = registryHandlers(actionRegistry, actionView)

export const worldModelHandlers = {
  register_type: registerType,
  list_types: listTypes,
  get_type: getType,
  verify_type: verifyType,
  validate_object: validateObject,
  validate_link: validateLink,
  invoke,
  list_actions: actions.list,
  action_stats: actionStats,
  get_action: actions.get,
  verify_action: verifyAction,
  approve_action: actions.approve,
  reject_action: actions.reject,
} satisfies HandlersOf<typeof worldModel>
