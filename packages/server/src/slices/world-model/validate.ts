// Validates objects and links against their types; nothing is stored.

import { type Cardinality, type worldModel as contract, worldModelLimits } from '@custos/contract'
import { isObject } from '@custos/proof'
import type { Handler } from '../../platform/kernel/call.ts'
import { validationDetail } from '../../platform/validation.ts'
import { findProblems, showProblem } from './check-run.ts'
import { findType, findVersion, type OpenType, specOf } from './find-types.ts'
import { specRefusal } from './type-spec.ts'

export const validateObject: Handler<typeof contract.validate_object> = async (call, { body }) => {
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
    throw specRefusal(loc, `an object has ${instance_bytes} bytes at most`)
  const problems = findProblems(specOf(kernel, 'object', type).test, instance)
  return { ...answer(type, problems.map(showProblem)) }
}

export const validateLink: Handler<typeof contract.validate_link> = async (call, { body }) => {
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
 * The cardinality that the new link would break: the side that may have only one partner and has
 * another already. Duplicate links count once.
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
