// Whether a composition can stand: its members as claimed and as found, then their licences.

import {
  type CompositionMember,
  conflictText,
  type LicenseVerdict,
  licenseVerdict,
  type ProposedMember,
  sortMembers,
} from '@custos/proof'
import { ALTERNATIVES_MAX, isSameLicense, licenseTerms } from './license-terms.ts'
import { type LookedUp, lookUp, STANDING, type Where } from './look-up.ts'

export interface ClaimedMember {
  readonly ref_id: string
  readonly license: string
  readonly certified: boolean
}

export interface Examined {
  /** Sorted, each once. */
  readonly members: readonly CompositionMember[]
  readonly license_verdict: LicenseVerdict
  /** Empty: nothing is in the way. */
  readonly reasons: readonly string[]
}

export async function examine(where: Where, claims: readonly ClaimedMember[]): Promise<Examined> {
  const reasons: string[] = []
  const members: CompositionMember[] = []
  for (const claim of sortMembers(onceEach(claims, reasons))) {
    const looked = await lookUp(where, claim.ref_id)
    reasons.push(...contradictions(claim, looked))
    const license_terms = withTerms(licenseTerms(claim.license), looked.terms)
    if (license_terms === null) reasons.push(tooMany(claim))
    members.push({ ...claim, found: looked.found, license_terms: license_terms ?? [] })
  }
  const license_verdict = licenseVerdict(members)
  if (reasons.length === 0)
    reasons.push(...license_verdict.reasons.map((conflict) => conflictText(conflict)))
  return { members, license_verdict, reasons }
}

/** What has become of the members since they were proposed. */
export function changesSince(
  proposed: readonly ProposedMember[],
  members: readonly CompositionMember[],
): string[] {
  return proposed.flatMap(({ ref_id, found }, i) =>
    isSameFound(found, members[i]?.found ?? null)
      ? []
      : [`${quoted(ref_id)} is not what it was when this was proposed: propose it anew`],
  )
}

type Found = ProposedMember['found']

const isSameFound = (a: Found, b: Found): boolean =>
  a?.kind === b?.kind && a?.id === b?.id && a?.status === b?.status

/** Without those that are listed again with the same claims. */
function onceEach(claims: readonly ClaimedMember[], reasons: string[]): ClaimedMember[] {
  const once = new Map<string, ClaimedMember>()
  for (const { ref_id, license, certified } of claims) {
    const known = once.get(ref_id)
    if (known === undefined) once.set(ref_id, { ref_id, license, certified })
    else if (known.license !== license || known.certified !== certified)
      reasons.push(`${quoted(ref_id)} is listed twice with different claims`)
  }
  return [...once.values()]
}

function contradictions(claim: ClaimedMember, { found, license }: LookedUp): string[] {
  const name = quoted(claim.ref_id)
  if (!claim.certified) return [`${name} is not certified`]
  const reasons: string[] = []
  if (found !== null && found.status !== STANDING[found.kind]) {
    const { kind, status } = found
    reasons.push(`${name} is claimed to be certified, but the ${kind} found is ${status}`)
  }
  if (license !== null && !isSameLicense(license, claim.license)) {
    const claimed = quoted(claim.license)
    reasons.push(`${name} is claimed to be under ${claimed}, but is registered under another`)
  }
  return reasons
}

type Terms = ReturnType<typeof licenseTerms>

/** What is said of a composition does not take away what its own members ask for. */
function withTerms(alternatives: Terms, more: readonly string[]): Terms {
  if (alternatives === null || more.length === 0) return alternatives
  return alternatives.map((terms) => [...new Set([...terms, ...more])].sort())
}

const tooMany = ({ ref_id }: ClaimedMember): string =>
  `the licence of ${quoted(ref_id)} has more than ${ALTERNATIVES_MAX} alternatives`

const quoted = (text: string): string => JSON.stringify(text)
