// The inclusion path of an entry, drawn from the entry at the foot to the root at the top.

import type { Breadcrumb, GcrumbsProofReply } from '@custos/client/types'
import { breadcrumbId, fromHex, type JsonObject, nodeHash, toHex } from '@custos/proof'
import { Pill } from '../../parts/display.tsx'
import css from './log.module.css'

interface ClimbStep {
  /** The side of the pair that comes from the proof. */
  readonly given: 'left' | 'right'
  readonly left: string
  readonly right: string
  /** The hash over both, as this browser computed it. */
  readonly result: string
}

/** The hash of an entry, from its members. */
export const leafOf = (entry: Breadcrumb): string =>
  // The payload is JSON, because the service sent it as JSON.
  breadcrumbId({ ...entry, payload: entry.payload as JsonObject })

/**
 * Joins the hash of an entry with its siblings, from below upwards (RFC 9162, section 2.1.3.2).
 * Each hash is computed in this browser.
 */
function climb(
  leaf: string,
  index: number,
  size: number,
  siblings: readonly string[],
): readonly ClimbStep[] {
  const steps: ClimbStep[] = []
  let [position, last, hash] = [index, size - 1, leaf]
  for (const sibling of siblings) {
    const isRight = position % 2 === 1 || position === last
    const [left, right] = isRight ? [sibling, hash] : [hash, sibling]
    hash = toHex(nodeHash(fromHex(left), fromHex(right)))
    steps.push({ given: isRight ? 'left' : 'right', left, right, result: hash })
    // A last node without a sibling moves up by itself.
    if (isRight)
      while (position % 2 === 0 && position !== 0)
        [position, last] = [position / 2, Math.floor(last / 2)]
    ;[position, last] = [Math.floor(position / 2), Math.floor(last / 2)]
  }
  return steps
}

const short = (hash: string): string => `${hash.slice(0, 8)}…${hash.slice(-4)}`

const WIDTH = 360
const BOX = { width: 164, height: 44 }
const LEVEL = 74
const MIDDLE = WIDTH / 2
const SIDES = { left: 2 + BOX.width / 2, right: WIDTH - 2 - BOX.width / 2 } as const

interface NodeProps {
  /** Position of the middle of the upper edge. */
  readonly x: number
  readonly y: number
  readonly hash: string
  readonly kind: 'computed' | 'given' | 'root'
  readonly label: string
}

const TreeNode = ({ x, y, hash, kind, label }: NodeProps) => (
  <g className={css['node']} data-kind={kind}>
    <title>{hash}</title>
    <rect x={x - BOX.width / 2} y={y} {...BOX} rx={6} />
    <text x={x} y={y + 17}>
      {label}
    </text>
    <text x={x} y={y + 35} className={css['hash']}>
      {short(hash)}
    </text>
  </g>
)

/** The pair below a node: one hash computed here, one from the proof. */
function PathLevel(props: {
  readonly step: ClimbStep
  readonly y: number
  /** Position of the node above. */
  readonly above: number
  readonly leafLabel: string | null
}) {
  const { step, y, above, leafLabel } = props
  return (
    <g>
      {(['left', 'right'] as const).map((side) => (
        <g key={side}>
          <path
            className={css['edge']}
            d={`M${above} ${y - LEVEL + BOX.height} L${SIDES[side]} ${y}`}
          />
          <TreeNode
            x={SIDES[side]}
            y={y}
            hash={step[side]}
            kind={step.given === side ? 'given' : 'computed'}
            label={step.given === side ? 'from the proof' : (leafLabel ?? 'computed here')}
          />
        </g>
      ))}
    </g>
  )
}

function PathDrawing(props: {
  readonly steps: readonly ClimbStep[]
  readonly root: string
  readonly reached: string
  readonly entry: Breadcrumb
}) {
  const { steps, root, reached, entry } = props
  const fromTop = steps.toReversed()
  const height = LEVEL * (fromTop.length + 1) + BOX.height + 4
  const computed = ({ given }: ClimbStep) => SIDES[given === 'left' ? 'right' : 'left']
  return (
    <svg
      className={css['path']}
      viewBox={`0 0 ${WIDTH} ${height}`}
      role="img"
      aria-label={`${steps.length} hashes from entry ${entry.seq} up to the root`}
    >
      <TreeNode x={MIDDLE} y={2} kind="root" label="root in the checkpoint" hash={root} />
      <path
        className={css['edge']}
        data-broken={root !== reached}
        d={`M${MIDDLE} ${2 + BOX.height} V${2 + LEVEL}`}
      />
      <TreeNode
        x={MIDDLE}
        y={2 + LEVEL}
        kind="computed"
        label={fromTop.length > 0 ? 'computed here' : `entry ${entry.seq}`}
        hash={reached}
      />
      {fromTop.map((step, i) => {
        const up = fromTop[i - 1]
        return (
          <PathLevel
            key={step.result}
            step={step}
            y={2 + LEVEL * (i + 2)}
            above={up ? computed(up) : MIDDLE}
            leafLabel={i === fromTop.length - 1 ? `entry ${entry.seq}` : null}
          />
        )
      })}
    </svg>
  )
}

/** An inclusion proof of an entry that the checkpoint covers. */
export type Inclusion = Required<
  Pick<GcrumbsProofReply, 'breadcrumb' | 'audit_path' | 'tree_size' | 'root_hash'>
>

export function InclusionPath({ proof }: { readonly proof: Inclusion }) {
  const { breadcrumb, audit_path: path, tree_size: size, root_hash: root } = proof
  const leaf = leafOf(breadcrumb)
  const steps = climb(leaf, breadcrumb.seq, size, path)
  const reached = steps.at(-1)?.result ?? leaf
  return (
    <>
      <p className={css['verdict']} role="status">
        <LeafVerdict entry={breadcrumb} leaf={leaf} />
        <Pill tone={reached === root ? 'good' : 'bad'}>
          {reached === root ? '✓ leads to the signed root' : '✗ does not lead to the signed root'}
        </Pill>
      </p>
      <PathDrawing steps={steps} root={root} reached={reached} entry={breadcrumb} />
      <details className={css['steps']}>
        <summary>Each step with its whole hashes</summary>
        <ol>
          <li>
            Entry {breadcrumb.seq}: <code>{leaf}</code>
          </li>
          {steps.map(({ left, right, result }) => (
            <li key={result}>
              SHA-256 of 01, <code>{left}</code> and <code>{right}</code> is <code>{result}</code>
            </li>
          ))}
          <li>
            Root of {size} entries in the checkpoint: <code>{root}</code>
          </li>
        </ol>
      </details>
    </>
  )
}

/** Shows whether the id of an entry is the hash of its members. */
export const LeafVerdict = ({ entry, leaf }: { entry: Breadcrumb; leaf: string }) => (
  <Pill tone={leaf === entry.breadcrumb_id ? 'good' : 'bad'}>
    {leaf === entry.breadcrumb_id
      ? '✓ the id is the hash of the entry'
      : '✗ the id is not the hash of the entry'}
  </Pill>
)
