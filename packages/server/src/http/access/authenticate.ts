// Finds out who calls: bootstrap operator key, stored key, or the local principal.

import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { DEFAULT_SCOPES } from '@custos/contract'
import type { Principal } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { findByKey, hashApiKey } from '../../slices/tenants/index.ts'
import { LocalGuard } from './local-guard.ts'

export const ANONYMOUS: Principal = {
  kind: 'anonymous',
  tenant_id: '',
  key_id: '',
  class: 'local',
  scopes: [],
  allowed_stores: [],
}

const BOOTSTRAP: Principal = {
  kind: 'operator',
  tenant_id: '',
  key_id: 'bootstrap',
  class: 'operator',
  scopes: DEFAULT_SCOPES.operator,
  allowed_stores: [],
}

export interface AuthOptions {
  readonly auth: 'local' | 'required'
  readonly operator_key: string | null
  /** Host names and origins accepted in local mode besides loopback. */
  readonly allowed_hosts: readonly string[]
  readonly local_tenant: string
}

export class Authenticator {
  readonly #kernel: Kernel
  readonly #operatorDigest: Buffer | null
  readonly #guard: LocalGuard | null
  readonly #local: Principal

  constructor(kernel: Kernel, options: AuthOptions) {
    this.#kernel = kernel
    // The configured text as UTF-8: the bytes a client's header carries.
    const key = options.operator_key
    this.#operatorDigest = key === null ? null : hash('sha256', key, 'buffer')
    this.#guard = options.auth === 'local' ? new LocalGuard(options.allowed_hosts) : null
    this.#local = {
      kind: 'local',
      tenant_id: options.local_tenant,
      key_id: 'local',
      class: 'local',
      scopes: ['*'],
      allowed_stores: [],
    }
  }

  /** Whether requests without a credential act as the local tenant. */
  get isLocal(): boolean {
    return this.#guard !== null
  }

  /** The caller; a promise only when a key has to be looked up in the database. */
  find(headers: IncomingHttpHeaders): Principal | Promise<Principal> {
    this.#guard?.assert(headers)
    const key = presentedKey(headers)
    if (key === null) {
      if (this.isLocal && headers.authorization === undefined) return this.#local
      if (this.isLocal && isEmptyBearer(headers.authorization)) return this.#local
      throw new Refusal('unauthenticated')
    }
    const digest = hashApiKey(key)
    // Before any check of form: the bootstrap key is any text the operator chose.
    if (this.#operatorDigest !== null && timingSafeEqual(digest, this.#operatorDigest))
      return BOOTSTRAP
    const found = findByKey(this.#kernel, key, digest)
    if (found instanceof Promise) return found.then(accept)
    return accept(found)
  }
}

function accept(found: Principal | null): Principal {
  if (found === null) throw new Refusal('unauthenticated')
  return found
}

/** The one key of the two headers, or null; refuses two different ones. */
function presentedKey(headers: IncomingHttpHeaders): string | null {
  const bearer = bearerToken(headers.authorization)
  const header = headers['x-api-key']
  const plain = typeof header === 'string' && header !== '' ? header : null
  if (bearer !== null && plain !== null && bearer !== plain) throw new Refusal('credentials_differ')
  return bearer ?? plain
}

function bearerToken(authorization: string | undefined): string | null {
  if (authorization === undefined || authorization.length <= 7) return null
  if (!/^bearer /i.test(authorization)) return null
  return authorization.slice(7).trim() || null
}

// Clients configured without a key still send the header, with nothing in it.
const isEmptyBearer = (authorization: string | undefined): boolean =>
  authorization !== undefined && /^bearer\s*$/i.test(authorization)
