const supported = 'Notification' in window;

/** Whether the browser shows notifications of this page. */
export const notifications = $state({
  supported,
  permission: supported ? Notification.permission : 'denied',
});

export async function askPermission(): Promise<void> {
  notifications.permission = await Notification.requestPermission();
}

/** Shows a notification unless the person looks at the page already. */
export function notify(text: string): void {
  if (!supported || Notification.permission !== 'granted' || document.hasFocus()) return;
  try {
    const shown = new Notification('Interlock', { body: text, tag: 'interlock', icon: '/icon.svg' });
    shown.onclick = () => {
      window.focus();
      location.hash = '#/inbox';
    };
  } catch {
    // Some mobile browsers have the constructor but refuse it.
  }
}
