"""What goes into a prompt: declared fields, tags for attachments, templates, skills."""
