/** What is made of an object, for as long as the object exists: when it is first needed, and once for all that need it. */
export function madeOnce<T extends object, V extends object>(make: (value: T) => V): (value: T) => V {
  const known = new WeakMap<T, V>();
  return (value) => {
    let made = known.get(value);
    if (made === undefined) known.set(value, (made = make(value)));
    return made;
  };
}
