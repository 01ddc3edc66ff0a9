// A line over time on canvas, always beside a table with the same numbers.

import { useEffect, useRef } from 'react'
import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import css from './chart.module.css'
import { formatNumber } from './display.tsx'

const COLOURS = ['--accent', '--warn', '--good', '--bad'] as const

const colour = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name)

/** Resolves a custom property with light-dark() to a colour, which a canvas cannot do. */
function resolved(name: string): string {
  const probe = document.createElement('span')
  probe.style.color = colour(name)
  document.body.append(probe)
  const found = getComputedStyle(probe).color
  probe.remove()
  return found
}

export function Chart(props: {
  readonly label: string
  /** Seconds since 1970. */
  readonly times: readonly number[]
  readonly series: readonly { readonly label: string; readonly values: readonly number[] }[]
  /** Formats a time for the table. */
  readonly timeText: (seconds: number) => string
  readonly height?: number
}) {
  const { label, times, series, timeText, height = 180 } = props
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = box.current
    if (!element) return
    const axis = { stroke: resolved('--muted'), grid: { stroke: resolved('--line') } }
    const plot = new UPlot(
      {
        width: element.clientWidth,
        height,
        series: [
          {},
          ...series.map((one, i) => ({
            label: one.label,
            stroke: resolved(COLOURS[i % COLOURS.length] ?? '--accent'),
            width: 1.5,
          })),
        ],
        axes: [axis, axis],
        legend: { show: false },
        cursor: { show: false },
      },
      [[...times], ...series.map(({ values }) => [...values])],
      element,
    )
    const watch = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }))
    watch.observe(element)
    return () => {
      watch.disconnect()
      plot.destroy()
    }
  }, [times, series, height])
  return (
    <figure className={css['chart']}>
      <figcaption>
        {series.map((one, i) => (
          <span key={one.label} data-series={i}>
            {one.label}
          </span>
        ))}
      </figcaption>
      <div ref={box} aria-hidden="true" />
      <details>
        <summary>{label} as a table</summary>
        <table>
          <thead>
            <tr>
              <th scope="col">Time</th>
              {series.map((one) => (
                <th key={one.label} scope="col">
                  {one.label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {times.map((time, i) => (
              <tr key={time}>
                <th scope="row">{timeText(time)}</th>
                {series.map((one) => (
                  <td key={one.label}>{formatNumber(one.values[i] ?? 0)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  )
}
