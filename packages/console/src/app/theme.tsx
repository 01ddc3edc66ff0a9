// The theme, a preference of this browser: light, dark, or that of the system.

import { Monitor, Moon, Sun } from 'lucide-react'
import { useState } from 'react'
import { preferences } from '../ambient.ts'
import { IconButton } from '../parts/button.tsx'

const THEMES = ['system', 'light', 'dark'] as const
const ICONS = { system: Monitor, light: Sun, dark: Moon }

const current = () => THEMES.find((theme) => theme === preferences.get('theme')) ?? 'system'

/** Applies the theme. Called before the first paint, so that the page does not flash. */
export function applyTheme(theme = current()): void {
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
}

export function ThemeSwitch() {
  const [theme, setTheme] = useState(current)
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system'
  return (
    <IconButton
      label={`Colours: ${theme}. Change to ${next}`}
      icon={ICONS[theme]}
      onClick={() => {
        preferences.set('theme', next)
        applyTheme(next)
        setTheme(next)
      }}
    />
  )
}
