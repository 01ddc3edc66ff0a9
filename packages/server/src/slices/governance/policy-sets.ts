// Caches the compiled policies of each tenant; never serves outdated ones, in any process.

import { shareCalls } from '../../platform/concurrency.ts'
import { findPolicySet } from '../../platform/db/control.sql.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Principal } from '../../platform/kernel/call.ts'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { listStanding } from './policies.sql.ts'
import type { Recognisers } from './rules/personal-data.ts'
import type { CompiledPolicy } from './rules/policy.ts'
import { actionOf, type OpenedPolicy, openPolicies, typeOf, UNREADABLE } from './sealed-policy.ts'

export interface PolicySet {
  /** 0 if the tenant never had a policy. */
  readonly policy_set: number
  /** The enabled policies, in the order of evaluation. */
  readonly policies: readonly CompiledPolicy[]
}

const NO_POLICIES: PolicySet = { policy_set: 0, policies: [] }
const KEPT_MAX = 10_000

/** The tenant whose policies apply, and the policy set number from its credential. */
export interface PolicyScope {
  readonly kernel: Kernel
  readonly tenant_id: string
  readonly principal: Pick<Principal, 'policy_set'>
}

/**
 * An exact cache. If no other process uses the data, a change removes the entry once durable.
 * Otherwise the number read with the credential says which policies are current.
 */
class PolicySets {
  readonly #kernel: Kernel
  readonly #kept = new Map<string, PolicySet>()
  #changes = 0
  /** Shared, because many requests arrive together and need the same policies. */
  readonly #findNumber

  constructor(kernel: Kernel) {
    this.#kernel = kernel
    this.#findNumber = shareCalls((tenant_id: string) => kernel.db.read(tenant_id, findPolicySet))
  }

  /** Returns a promise only if the database must be read. */
  of({ tenant_id, principal }: PolicyScope): PolicySet | Promise<PolicySet> {
    const kept = this.#kept.get(tenant_id)
    if (!this.#kernel.db.shared) return kept ?? this.#load(tenant_id)
    const { policy_set } = principal
    if (policy_set === undefined) return this.#newest(tenant_id)
    if (policy_set === 0) return NO_POLICIES
    return kept && kept.policy_set >= policy_set ? kept : this.#load(tenant_id)
  }

  /** Call this after the commit of a change. */
  forget(tenant_id: string): void {
    this.#changes += 1
    this.#kept.delete(tenant_id)
  }

  async #newest(tenant_id: string): Promise<PolicySet> {
    const policy_set = await this.#findNumber(tenant_id)
    if (policy_set === 0) return NO_POLICIES
    const kept = this.#kept.get(tenant_id)
    return kept?.policy_set === policy_set ? kept : this.#load(tenant_id)
  }

  async #load(tenant_id: string): Promise<PolicySet> {
    const changes = this.#changes
    const { policy_set, rows } = await this.#kernel.db.read(tenant_id, loadEnabled)
    const opened = await openPolicies(this.#kernel, tenant_id, rows)
    const loaded = { policy_set, policies: await compile(opened) }
    // Do not cache policies that were read before a change.
    if (changes === this.#changes) this.#keep(tenant_id, loaded)
    return loaded
  }

  #keep(tenant_id: string, loaded: PolicySet): void {
    const kept = this.#kept.get(tenant_id)
    if (kept && kept.policy_set > loaded.policy_set) return
    if (this.#kept.size >= KEPT_MAX) this.#kept.clear()
    this.#kept.set(tenant_id, loaded)
  }
}

async function loadEnabled(db: TenantDb) {
  const policy_set = await findPolicySet(db)
  if (policy_set === 0) return { policy_set, rows: [] }
  const rows = await listStanding(db)
  return { policy_set, rows: rows.filter(({ enabled }) => enabled === 1) }
}

/** Engines and recognisers are loaded with the first policies that need them, not at startup. */
async function compile(opened: readonly OpenedPolicy[]): Promise<CompiledPolicy[]> {
  if (opened.length === 0) return []
  const [{ compilePolicy, policyOf }, recognisers] = await Promise.all([
    import('./rules/policy.ts'),
    recognisersFor(opened),
  ])
  return opened.map(({ row, words }) => {
    const { name, config } = words ?? UNREADABLE
    const { policy_id, version } = row
    const text = { policy_id, version, policy_type: typeOf(row), action: actionOf(row), name }
    const whole = { ...text, config }
    return policyOf(whole, compilePolicy(words === null ? null : whole, recognisers))
  })
}

async function recognisersFor(opened: readonly OpenedPolicy[]): Promise<Recognisers> {
  const named = opened.some(({ words }) => words !== null && words.config['entities'] !== undefined)
  return named ? (await import('./rules/personal-data.ts')).recognisers : NONE
}

/** For policies that name no entity. A policy that did would deny requests, not allow them. */
const NONE: Recognisers = {
  entities: [],
  find() {
    throw new Error('the recognisers are not loaded')
  },
}

export const policySets = perKernel((kernel) => new PolicySets(kernel))
