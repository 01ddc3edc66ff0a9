// Numbers as the decimals they are written as: 0.3 is three times 0.1, although not in binary.

/** `digits` times ten to the power of `power`. */
interface Decimal {
  readonly digits: bigint
  readonly power: number
}

/** Of the shortest text that names the number. */
function decimalOf(value: number): Decimal {
  const [mantissa = '0', exponent = '0'] = value.toExponential().split('e')
  const [whole = '0', fraction = ''] = mantissa.split('.')
  return { digits: BigInt(whole + fraction), power: Number(exponent) - fraction.length }
}

/** @param step told how much work it is: digits that are multiplied and divided */
export type MultipleTest = (value: number, step: (count: number) => void) => boolean

const FEWEST_STEPS = 20

/** Whether a number is a whole multiple of `divisor`, exactly. */
export function multiplesOf(divisor: number): MultipleTest {
  const unit = decimalOf(divisor)
  const whole = Number.isSafeInteger(divisor)
  return (value, step) => {
    if (whole && Number.isSafeInteger(value)) return value % divisor === 0
    const { digits, power } = decimalOf(value)
    const shift = power - unit.power
    step(FEWEST_STEPS + Math.abs(shift))
    if (shift >= 0) return (digits * 10n ** BigInt(shift)) % unit.digits === 0n
    return digits % (unit.digits * 10n ** BigInt(-shift)) === 0n
  }
}
