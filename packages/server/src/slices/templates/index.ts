// Type templates: lists and installs them.

import type {
  Cardinality,
  templates as contract,
  ReplyOf,
  TypeName,
  templates,
} from '@custos/contract'
import {
  actionOperation,
  canonicalize,
  type JsonObject,
  type WorldTypeRequest,
} from '@custos/proof'
import { Conflict, retryOnConflict } from '../../platform/concurrency.ts'
import type { Call, Handler, HandlersOf } from '../../platform/kernel/call.ts'
import { pageOf } from '../../platform/page.ts'
import type { Refusal } from '../../platform/refusal.ts'
import {
  insertPrepared,
  type PreparedRecord,
  prepareRecord,
  RECORD_RETRY,
  rejection,
} from '../records/index.ts'
import { meter } from '../tenants/index.ts'
import { findType, typeRegistry } from '../world-model/index.ts'

const PAGE_DEFAULT = 50

const list: Handler<typeof contract.list> = async (call, { query }) => {
  const page = pageOf(query, PAGE_DEFAULT, call.operation.id)
  const shown = TEMPLATES.slice(page.offset, page.offset + page.limit).map(
    ({ id, name, version, description }) => ({ id, name, version, description }),
  )
  return page.envelope('templates', shown)
}

/** POST /v1/templates/install: every type of a template in one unit of work, or none. */
const install: Handler<typeof contract.install> = async (call, { body }) => {
  const template = TEMPLATES.find(({ id }) => id === body.template_id)
  if (!template) return call.refuse('template_not_found')
  const types = typesOf(template)

  if (body.dry_run) return answer(template, await compareTypes(call, types), { dry_run: true })

  return retryOnConflict(async () => {
    const compared = await compareTypes(call, types)
    if (compared.conflicts.length > 0 && call.idempotency_key === null)
      throw conflictRefusal(compared.conflicts)
    return answer(template, await registerTypes(call, types, compared), { dry_run: false })
  }, RECORD_RETRY)
}

/** The types of a template, compared with the tenant's types. */
interface TemplateComparison {
  readonly installed: readonly TemplateType[]
  readonly already_there: readonly TemplateType[]
  readonly conflicts: readonly TemplateType[]
}

async function compareTypes(
  { kernel, tenant_id }: Call<typeof contract.install>,
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

/** Compares specs without their template source and description. */
function isSame(a: JsonObject, b: JsonObject): boolean {
  const bare = ({ template_source: _, description: __, ...spec }: JsonObject) => canonicalize(spec)
  return bare(a) === bare(b)
}

function conflictRefusal(conflicts: readonly TemplateType[]): Refusal {
  const names = conflicts.map(nameOf)
  const reasons = names.map(({ kind, name }) => `the ${kind} ${name} has another spec already`)
  return rejection(reasons, { conflicts: names })
}

const nameOf = ({ kind, name }: TemplateType) => ({ kind, name })

/** Registers the types in one unit of work. A retry gets the answer of the first run. */
async function registerTypes(
  call: Call<typeof contract.install>,
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

/** Passes every type through the policies before any is written. */
async function prepareAll(
  call: Call<typeof contract.install>,
  types: readonly TemplateType[],
): Promise<PreparedRecord[]> {
  const objects = types.filter(({ kind }) => kind === 'object').map(({ name }) => name)
  const registry = typeRegistry(new Set(objects))
  const prepared: PreparedRecord[] = []
  for (const { kind, name, spec } of types) {
    const one = await prepareRecord(call, registry, { kind, name, spec })
    // Another request has registered the type since it was compared.
    if ('existing' in one || one.row.version !== 1) throw new Conflict('record')
    prepared.push(one)
  }
  return prepared
}

function answer(
  { id, version }: TemplateSource,
  { installed, already_there, conflicts }: TemplateComparison,
  { dry_run }: { readonly dry_run: boolean },
): ReplyOf<typeof contract.install> {
  const standing = already_there.length + (dry_run ? 0 : installed.length)
  return {
    status: 'success',
    data: {
      template: id,
      version,
      dry_run,
      installed_types_count: standing,
      installed: installed.map(nameOf),
      already_there: already_there.map(nameOf),
      conflicts: conflicts.map(nameOf),
    },
  }
}

/** A type of a template. */
type TemplateType = WorldTypeRequest & TypeName

/** The types of a template, with objects first, because the others name them. */
function typesOf({ id, objects, links, actions }: TemplateSource): TemplateType[] {
  const type = (kind: TypeName['kind'], name: string, spec: JsonObject): TemplateType => ({
    kind,
    name,
    spec: { ...spec, template_source: id },
  })
  return [
    ...Object.entries(objects).map(([name, properties]) =>
      type('object', name, { properties: readProperties(properties) }),
    ),
    ...Object.entries(links).map(([name, [from_type, to_type, cardinality]]) =>
      type('link', name, { from_type, to_type, cardinality }),
    ),
    ...Object.entries(actions).map(([name, [subject_type, required_trust_tier]]) =>
      type('action', name, {
        operation: actionOperation(name),
        required_trust_tier,
        subject_type,
      }),
    ),
  ]
}

const readProperties = (properties: Readonly<Record<string, PropertyText>>): JsonObject =>
  Object.fromEntries(
    Object.entries(properties).map(([name, text]) => [
      name,
      { type: text.replace('!', ''), ...(text.endsWith('!') ? { required: true } : {}) },
    ]),
  )

export const templatesHandlers = { list, install } satisfies HandlersOf<typeof templates>

/** A JSON type, followed by `!` if the property is required. */
type PropertyText = `${'string' | 'integer' | 'number' | 'boolean'}${'' | '!'}`

interface TemplateSource {
  readonly id: string
  readonly name: string
  readonly version: string
  readonly description: string
  readonly objects: Readonly<Record<string, Readonly<Record<string, PropertyText>>>>
  readonly links: Readonly<
    Record<string, readonly [from: string, to: string, cardinality: Cardinality]>
  >
  readonly actions: Readonly<Record<string, readonly [subject: string, tier: string]>>
}

const SOFTWARE_ENGINEERING: TemplateSource = {
  id: 'gns-software-engineering',
  name: 'gns-software-engineering',
  version: '1.0.0',
  description: 'Code changes, deployments and vulnerabilities; merging and approving deployments',
  objects: {
    CodeChange: { title: 'string!', files_changed: 'integer' },
    Deployment: { environment: 'string!', status: 'string' },
    Vulnerability: { cve_id: 'string!', severity: 'string' },
  },
  links: {
    CodeChangeTriggersDeployment: ['CodeChange', 'Deployment', 'many_to_one'],
    DeploymentHasVulnerability: ['Deployment', 'Vulnerability', 'many_to_many'],
  },
  actions: {
    approve_deploy: ['Deployment', 'verified'],
    merge_code: ['CodeChange', 'basic'],
  },
}

const HEALTHCARE: TemplateSource = {
  id: 'healthcare',
  name: 'healthcare-compliance',
  version: '1.0.0',
  description: 'Patient records and diagnoses; viewing them and exporting datasets',
  objects: {
    PatientRecord: { mrn: 'string!', dob: 'string', is_anonymized: 'boolean' },
    Diagnosis: { icd10_code: 'string!', description: 'string' },
  },
  links: {
    PatientHasDiagnosis: ['PatientRecord', 'Diagnosis', 'many_to_many'],
  },
  actions: {
    view_phi: ['PatientRecord', 'verified'],
    export_dataset: ['PatientRecord', 'trusted'],
  },
}

const RECEIVABLES: TemplateSource = {
  id: 'virtualbank-receivables',
  name: 'virtualbank-receivables',
  version: '1.0.0',
  description: 'Receivables finance: clients, invoices, advances, decisions, outcomes and alerts',
  objects: {
    Client: { client_id: 'string!', name: 'string', sector: 'string', country: 'string' },
    Counterparty: { counterparty_id: 'string!', name: 'string', sector: 'string' },
    Invoice: {
      invoice_ref: 'string!',
      amount: 'number',
      currency: 'string',
      tenor_days: 'number',
      sector: 'string',
      risk_signal: 'number',
    },
    Advance: { advance_id: 'string!', amount: 'number', facility: 'string', status: 'string' },
    Agent: { agent_handle: 'string!', agent_key: 'string', model_id: 'string' },
    Decision: {
      decision: 'string!',
      verifiability_tag: 'string',
      reason_code: 'string',
      agent_handle: 'string',
    },
    Outcome: { outcome: 'string!', amount_recovered: 'number', outcome_date: 'string' },
    AMLAlert: { alert_id: 'string!', risk_score: 'number', reason: 'string' },
    Disposition: { disposition: 'string!', notes: 'string' },
  },
  links: {
    owns: ['Client', 'Invoice', 'one_to_many'],
    drawnOn: ['Invoice', 'Counterparty', 'many_to_one'],
    fundedBy: ['Invoice', 'Advance', 'one_to_one'],
    decidedBy: ['Decision', 'Agent', 'many_to_one'],
    resolvesTo: ['Decision', 'Outcome', 'one_to_one'],
    triggers: ['Invoice', 'AMLAlert', 'one_to_many'],
    resolvedBy: ['AMLAlert', 'Disposition', 'one_to_one'],
  },
  actions: {
    certify: ['Invoice', 'verified'],
    reject: ['Invoice', 'verified'],
    record_outcome: ['Advance', 'trusted'],
    clear_alert: ['AMLAlert', 'verified'],
    escalate_alert: ['AMLAlert', 'trusted'],
  },
}

const TEMPLATES: readonly TemplateSource[] = [SOFTWARE_ENGINEERING, HEALTHCARE, RECEIVABLES]
