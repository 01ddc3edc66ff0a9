// Bands of a score and the words that justify one: part of what an attestation signs.

export const BANDS = ['gold', 'silver', 'bronze', 'unproven'] as const
export type Band = (typeof BANDS)[number]

/** Resolved decisions below which there is no band. */
const PROVEN_MIN = 3

/** The first that fits; `text` is the lower limit as the signed rationale spells it. */
const RULES = [
  { band: 'gold', score: 0.8, text: '0.8', resolved: 20 },
  { band: 'silver', score: 0.65, text: '0.65', resolved: 10 },
  { band: 'bronze', score: 0, text: '0.0', resolved: PROVEN_MIN },
] as const

export function bandOf(score: number, resolved: number): Band {
  return ruleOf(score, resolved)?.band ?? 'unproven'
}

export function rationaleOf(score: number, resolved: number): string {
  const rule = ruleOf(score, resolved)
  if (rule === undefined) return `n_resolved=${resolved} < proven floor ${PROVEN_MIN}`
  const { text } = rule
  return `score ${thousandths(score)} ≥ ${text} and n_resolved ${resolved} ≥ ${rule.resolved}`
}

function ruleOf(score: number, resolved: number) {
  return RULES.find((rule) => score >= rule.score && resolved >= rule.resolved)
}

/**
 * Three decimals, a tie to the even neighbour. `toFixed` takes the larger one, and the text is
 * signed: only odd sixteenths lie halfway between two thousandths in binary.
 */
function thousandths(score: number): string {
  if ((score * 16) % 2 !== 1) return score.toFixed(3)
  const below = Math.floor(score * 1000)
  return ((below % 2 === 0 ? below : below + 1) / 1000).toFixed(3)
}
