// The human principal of a request: who may not decide it.

import { foldName, isObject, isText, type JsonObject } from '@custos/proof'
import type { Kernel } from '../../platform/kernel.ts'

/** As the request names it; null: nobody is named. */
export function principalOf({ authority }: JsonObject): string | null {
  if (!isObject(authority)) return null
  const human = authority['human_principal']
  return isText(human) ? human : null
}

/** An HMAC of the name as it reads: holds also where a policy took the name out. */
export async function principalLabel(
  kernel: Kernel,
  tenant_id: string,
  name: string | null,
): Promise<string | null> {
  const folded = name === null ? '' : foldName(name)
  if (folded === '') return null
  return (await kernel.keyring.tenant(tenant_id)).label(`principal\n${folded}`)
}
