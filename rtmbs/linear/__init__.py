"""Linear algebra behind two verbs, factor and solve; nothing here knows mechanics."""
