"""The documentation as a site: ``make docs`` builds it from README and docs/, without a network.

mkdocs does the building (mkdocs.yml). Its :mod:`hooks` add the pages that are not written by hand:
the references, the decisions' list, the notebook, the gallery and the files that pages link to.
"""
