// POST /v1/templates/install: every type of a template in one unit, or none; nothing overwritten.

import type { templates as contract, ReplyOf } from '@custos/contract'
import { canonicalize, type JsonObject } from '@custos/proof'
import type { Call, Handler } from '../../platform/call.ts'
import { Refusal } from '../../platform/refusal.ts'
import {
  insertPrepared,
  type PreparedRecord,
  prepareRecord,
  RecordTaken,
  untilFree,
} from '../records/index.ts'
import { meter } from '../tenants/index.ts'
import { findType, typeRegistry } from '../world-model/index.ts'
import { findTemplate, type TemplateSource, type TemplateType, typesOf } from './catalogue.ts'

type Install = typeof contract.install

export const install: Handler<Install> = async (call, { body }) => {
  const template = findTemplate(body.template_id)
  if (!template) return call.refuse('template_not_found')
  const types = typesOf(template)

  if (body.dry_run) return answer(template, await compareTypes(call, types), { dry_run: true })

  return untilFree(async () => {
    const compared = await compareTypes(call, types)
    if (compared.conflicts.length > 0 && call.idempotency_key === null)
      throw conflictRefusal(compared.conflicts)
    return answer(template, await registerTypes(call, types, compared), { dry_run: false })
  })
}

/** The types of a template by what is there of them. */
interface TemplateComparison {
  readonly installed: readonly TemplateType[]
  readonly already_there: readonly TemplateType[]
  readonly conflicts: readonly TemplateType[]
}

async function compareTypes(
  { kernel, tenant_id }: Call<Install>,
  types: readonly TemplateType[],
): Promise<TemplateComparison> {
  const found = await Promise.all(types.map((type) => findType(kernel, tenant_id, type)))
  const of = (state: 'installed' | 'already_there' | 'conflicts') =>
    types.filter((type, i) => {
      const spec = found[i]?.request.spec
      if (spec === undefined) return state === 'installed'
      return state === (isSame(spec, type.spec) ? 'already_there' : 'conflicts')
    })
  return {
    installed: of('installed'),
    already_there: of('already_there'),
    conflicts: of('conflicts'),
  }
}

/** Wherever it came from, and whatever is noted of it. */
function isSame(a: JsonObject, b: JsonObject): boolean {
  const bare = ({ template_source: _, description: __, ...spec }: JsonObject) => canonicalize(spec)
  return bare(a) === bare(b)
}

function conflictRefusal(conflicts: readonly TemplateType[]): Refusal {
  const names = conflicts.map(nameOf)
  const reasons = names.map(({ kind, name }) => `the ${kind} ${name} has another spec already`)
  const detail = { status: 'rejected', reasons, conflicts: names }
  return new Refusal('rejected', reasons[0], { detail })
}

const nameOf = ({ kind, name }: TemplateType) => ({ kind, name })

/** One unit; a retry is told what the first run did. */
async function registerTypes(
  call: Call<Install>,
  types: readonly TemplateType[],
  compared: TemplateComparison,
): Promise<TemplateComparison> {
  const prepared = compared.conflicts.length > 0 ? [] : await prepareAll(call, compared.installed)
  const positions = (some: readonly TemplateType[]) => some.map((type) => types.indexOf(type))
  return call.once<TemplateComparison>({
    async run(tx) {
      if (compared.conflicts.length > 0) throw conflictRefusal(compared.conflicts)
      for (const one of prepared) await insertPrepared(tx, one)
      const bytes = prepared.reduce((sum, { row }) => sum + row.sealed.length, 0)
      meter(tx, call.operation.id, bytes)
      return { reply: compared, ids: { installed: positions(compared.installed) } }
    },
    replay: async (_, { installed }) => {
      const did = Array.isArray(installed) ? installed : []
      return {
        installed: types.filter((_type, i) => did.includes(i)),
        already_there: types.filter((_type, i) => !did.includes(i)),
        conflicts: [],
      }
    },
  })
}

/** Each passes the policies before any is written. */
async function prepareAll(
  call: Call<Install>,
  types: readonly TemplateType[],
): Promise<PreparedRecord[]> {
  const objects = types.filter(({ kind }) => kind === 'object').map(({ name }) => name)
  const registry = typeRegistry(new Set(objects))
  const prepared: PreparedRecord[] = []
  for (const { kind, name, spec } of types) {
    const one = await prepareRecord(call, registry, { kind, name, spec })
    // Somebody registered it since it was looked up: what there is now is compared again.
    if ('existing' in one || one.row.version !== 1) throw new RecordTaken()
    prepared.push(one)
  }
  return prepared
}

function answer(
  { id, version }: TemplateSource,
  { installed, already_there, conflicts }: TemplateComparison,
  { dry_run }: { readonly dry_run: boolean },
): ReplyOf<Install> {
  const standing = already_there.length + (dry_run ? 0 : installed.length)
  return {
    status: 'success',
    data: {
      ...{ template: id, version, dry_run },
      installed_types_count: standing,
      installed: installed.map(nameOf),
      already_there: already_there.map(nameOf),
      conflicts: conflicts.map(nameOf),
    },
  }
}
